/** The log cannot be written: the gateway answers, counts the lost lines, and ends when it is told to. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { PATIENT } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { MAIN, NODE } from '../support/tested-command.ts';
import { openTerminal } from './support/tmux.ts';

/** Each step, on a busy machine. */
const WITHIN_MS = 60_000;
const { tmux } = inject('programs');
const LOST = 'headgate_log_lines_lost_total';

const started = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'headgate-lost-log-'));
const policies = join(folder, 'policies.yaml');
let redis: TestRedis;
let batches = 0;

beforeAll(async () => {
  started.defer(() => rmSync(folder, { recursive: true }));
  writeFileSync(policies, 'version: 1\ndefault: { limits: [1/1h] }\n');
  if (redisIsHere) redis = started.use(await startRedis());
});
afterAll(() => started.disposeAsync());

interface Place {
  readonly url: string;
  readonly opsUrl: string;
  readonly env: NodeJS.ProcessEnv;
}

/** On fixed ports, because its banner may be lost. */
async function place(workers: number): Promise<Place> {
  const [port, opsPort] = [await freePort(), await freePort()];
  return {
    url: `http://127.0.0.1:${port}`,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    env: {
      ...process.env,
      ...PATIENT,
      HEADGATE_PORT: String(port),
      HEADGATE_OPS_PORT: String(opsPort),
      HEADGATE_GRPC_PORT: 'off',
      HEADGATE_DRAIN_MS: '0',
      HEADGATE_POLICIES: policies,
      HEADGATE_WORKERS: String(workers),
      ...(workers > 1 && { HEADGATE_REDIS_URL: redis.url }),
    },
  };
}

/** Runs the gateway in a shell. `$SERVE` is its command. */
function startInShell(script: string, { env }: Place): RunningProcess {
  return startProcess('bash', ['-c', script], { env: { ...env, SERVE: `${NODE} ${MAIN} serve` } });
}

async function ready({ opsUrl }: Place): Promise<void> {
  await eventually(
    () => call(opsUrl, '/readyz').catch(() => ({ status: 0 })),
    ({ status }) => status === 200,
    WITHIN_MS,
    'a gateway that is ready',
  );
}

/** Each client is denied once, which is a line of the log. */
async function writeLines({ url }: Place, count: number): Promise<void> {
  batches++;
  const agent = new Agent();
  const check = (client: number) =>
    call(url, '/envoy/a', {
      headers: { 'x-headgate-client-ip': `10.${batches}.0.${client}` },
      agent,
    });
  for (let client = 0; client < count; client++) {
    expect((await check(client)).status).toBe(200);
    expect((await check(client)).status).toBe(429);
  }
}

async function expectLost(at: Place, isEnough: (lines: number) => boolean): Promise<void> {
  await eventually(() => metric(at, LOST), isEnough, WITHIN_MS, 'lost lines');
}

describe.each([1, 2])('a gateway with %i workers', (workers) => {
  const withRedis = test.skipIf(workers > 1 && !redisIsHere);

  withRedis.each([
    ['a full disk', 'exec $SERVE > /dev/full'],
    ['a full disk, for both outputs', 'exec $SERVE > /dev/full 2>&1'],
    ['a pipe whose reader has ended', 'exec $SERVE > >(head -1)'],
  ])('answers and ends with its log on %s', async (_what, script) => {
    const at = await place(workers);
    await using gateway = startInShell(script, at);
    await ready(at);
    await writeLines(at, 5);
    await expectLost(at, (lines) => lines >= 5);
    await writeLines(at, 5);
    expect(await gateway.stop('SIGTERM')).toBe(0);
  });

  withRedis('answers and ends while the reader of its log hangs', async () => {
    const at = await place(workers);
    const path = join(folder, `pipe-${workers}`);
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    fill(reader);
    await using gateway = startInShell(`exec $SERVE > ${path} 2>&1`, at);
    await ready(at);
    await writeLines(at, 5);
    expect(await gateway.stop('SIGTERM')).toBe(0);
    closeSync(reader);
  });

  withRedis('says how many lines were lost once they can be written again', async () => {
    const at = await place(workers);
    const path = join(folder, `log-${workers}`);
    // The file may have so many KiB.
    await using gateway = startInShell(`ulimit -f 3; exec $SERVE >> ${path}`, at);
    await ready(at);
    await writeLines(at, 20);
    await expectLost(at, (lines) => lines > 0);
    truncateSync(path);
    const total = () => {
      const lines = readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{'));
      const losses = lines.map((line) => JSON.parse(line)).filter(isLoss);
      return losses.reduce((sum, { lines }) => sum + lines, 0);
    };
    await eventually(
      async () => [total(), await metric(at, LOST)],
      ([said, counted]) => said === counted,
      WITHIN_MS,
      'a line that says how many were lost',
    );
    expect(await gateway.stop('SIGTERM')).toBe(0);
    expect(readFileSync(path, 'utf8')).toContain('"event":"stopping"');
  });

  test.skipIf(tmux === undefined || (workers > 1 && !redisIsHere))(
    'answers and ends after its terminal was closed',
    async () => {
      const at = await place(workers);
      const [pidFile, codeFile] = [join(folder, `pid-${workers}`), join(folder, `code-${workers}`)];
      const terminal = await openTerminal(tmux ?? '', {
        columns: 80,
        rows: 24,
        env: at.env,
      });
      // This shell outlives its terminal, to tell the exit code.
      const script = join(folder, `in-terminal-${workers}.sh`);
      const serve = `${NODE} ${MAIN} serve & echo $! > ${pidFile}; wait $!; echo $? > ${codeFile}`;
      writeFileSync(script, `trap '' HUP\n${serve}\n`);
      await terminal.enter(`sh ${script}`);
      await ready(at);
      const pid = Number(readFileSync(pidFile, 'utf8'));
      started.defer(() => void spawnSync('kill', ['-KILL', String(pid)]));
      await terminal[Symbol.asyncDispose]();
      // A moment passes until the terminal is gone, and takes lines meanwhile.
      await eventually(
        async () => {
          await writeLines(at, 5);
          return metric(at, LOST);
        },
        (lines) => lines >= 5,
        WITHIN_MS,
        'lost lines',
      );
      process.kill(pid, 'SIGTERM');
      await eventually(
        async () => readFileSync(codeFile, { encoding: 'utf8', flag: 'a+' }).trim(),
        (code) => code === '0',
        WITHIN_MS,
        'exit code 0',
      );
    },
  );
});

const isLoss = ({ event }: { event: string }) => event === 'log_lines_lost';

/** Writes to the pipe until it takes no byte more. */
function fill(pipe: number): void {
  for (const size of [4_096, 1]) {
    try {
      while (true) writeSync(pipe, Buffer.alloc(size, '.'));
    } catch {
      // It is full.
    }
  }
}
