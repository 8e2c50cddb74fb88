/** A real Prometheus of this machine, with a folder that goes with it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { call } from './http.ts';
import { accepting, freePort, startProcess } from './process.ts';
import { findProgram } from './provision.ts';
import { changed } from './proxies.ts';

export interface Prometheus extends AsyncDisposable {
  /** Values of a PromQL expression as it is now, one for each series. */
  query(expression: string): Promise<readonly number[]>;
}

/** With a file of deploy/, but for what a run changes. */
export async function startPrometheus(
  file: string,
  changes: Readonly<Record<string, string>>,
): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-prometheus-'));
  await using unlessItStarts = new AsyncDisposableStack();
  unlessItStarts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const args = [
    `--config.file=${changed(file, folder, changes)}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const program = unlessItStarts.use(startProcess(prometheusProgram(), args));
  await accepting(port, program);
  const started = unlessItStarts.move();
  return {
    async query(expression) {
      const path = `/api/v1/query?query=${encodeURIComponent(expression)}`;
      const { status, body } = await call(`http://127.0.0.1:${port}`, path);
      if (status !== 200) throw new Error(`${expression}: ${body}`);
      const { data } = JSON.parse(body) as { data: { result: { value: [number, string] }[] } };
      return data.result.map(({ value }) => Number(value[1]));
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Throws what its own checker says against a file. */
export function checkPrometheusFile(path: string): void {
  const promtool = join(dirname(prometheusProgram()), 'promtool');
  execFileSync(promtool, ['check', 'config', path], { stdio: 'pipe' });
}

const prometheusProgram = () => findProgram('prometheus') ?? 'prometheus';
