/** Starts Prometheus in a temporary folder, and runs promtool. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { waitUntil } from '../../support/eventually.ts';
import { call } from '../../support/http.ts';
import { freePort } from '../../support/ports.ts';
import { accepting, startProcess } from '../../support/process.ts';
import { findProgram } from '../../support/programs.ts';
import { changed } from '../../support/proxies.ts';

export interface Prometheus extends AsyncDisposable {
  /** The current values of a PromQL expression, one for each series. */
  query(expression: string): Promise<readonly number[]>;
  /** The names of the alerts in its rules. */
  alerts(): Promise<readonly string[]>;
}

/** Uses a file of deploy/ with these changes. */
export async function startPrometheus(
  file: string,
  changes: Readonly<Record<string, string>>,
): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-prometheus-'));
  await using unlessItStarts = new AsyncDisposableStack();
  unlessItStarts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const args = [
    `--config.file=${changed(file, { folder, changes })}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const program = unlessItStarts.use(startProcess(prometheusProgram(), args));
  await accepting(port, program);
  // It listens before it can answer.
  const url = `http://127.0.0.1:${port}`;
  await waitUntil('Prometheus is ready', async () => (await call(url, '/-/ready')).status === 200);
  const started = unlessItStarts.move();
  const ask = async (path: string) => {
    const { status, body } = await call(url, path);
    if (status !== 200) throw new Error(`${decodeURIComponent(path)}: ${body}`);
    return JSON.parse(body).data;
  };
  return {
    async query(expression) {
      const { result }: { result: { value: [number, string] }[] } = await ask(
        `/api/v1/query?query=${encodeURIComponent(expression)}`,
      );
      return result.map(({ value }) => Number(value[1]));
    },
    async alerts() {
      const { groups }: { groups: { rules: { name: string }[] }[] } = await ask('/api/v1/rules');
      return groups.flatMap(({ rules }) => rules.map(({ name }) => name));
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Throws the complaints of promtool about a file and the rules that it names. */
export function checkPrometheusFile(path: string): void {
  promtool('check', 'config', path);
}

/** Throws the complaints of promtool about rules. */
export function checkRules(path: string): void {
  promtool('check', 'rules', path);
}

/** Throws if tests of rules fail. */
export function testRules(paths: readonly string[]): void {
  promtool('test', 'rules', ...paths);
}

function promtool(...args: string[]): void {
  const program = join(dirname(prometheusProgram()), 'promtool');
  try {
    execFileSync(program, args, { stdio: 'pipe' });
  } catch (error) {
    // promtool prints the reasons on standard output.
    throw new Error(`promtool ${args.join(' ')}:\n${(error as { stdout?: unknown }).stdout}`);
  }
}

const prometheusProgram = () => findProgram('prometheus') ?? 'prometheus';
