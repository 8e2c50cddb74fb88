/** Whatever fails at the start, the process ends with its exit code, and leaves no other process behind. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { MAIN, NODE } from '../support/tested-command.ts';
import { workersOf } from './support/workers.ts';

/** Each step, on a busy machine. */
const WITHIN_MS = 60_000;
const started = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'headgate-failed-start-'));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const junk = file('junk.pem', 'no certificate\n');
const wrongLimits = file('wrong.yaml', 'domain: edge\ndescriptors: [{ kee: path }]\n');
const limits = file('limits.yaml', 'domain: edge\ndescriptors: [{ key: path }]\n');

/** Addresses of Redis, by its state. */
const redisUrls: Record<string, string> = { unreachable: 'redis://127.0.0.1:1' };
let takenPort = '';

beforeAll(async () => {
  started.defer(() => rmSync(folder, { recursive: true }));
  const server = createServer().listen(0, '127.0.0.1');
  started.defer(() => void server.close());
  // It accepts connections and says nothing, as a frozen Redis does.
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  started.defer(() => void silent.close());
  await Promise.all([once(server, 'listening'), once(silent, 'listening')]);
  takenPort = String((server.address() as AddressInfo).port);
  redisUrls.silent = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  if (redisIsHere) redisUrls.well = started.use(await startRedis()).url;
});
afterAll(() => started.disposeAsync());

function start(env: NodeJS.ProcessEnv): RunningProcess {
  const ports = { HEADGATE_PORT: '0', HEADGATE_OPS_PORT: '0', HEADGATE_GRPC_PORT: '0' };
  return startProcess(NODE, [MAIN, 'serve'], { env: { ...process.env, ...ports, ...env } });
}

/** How a start fails, and its exit code. */
const FAILURES: readonly [string, () => NodeJS.ProcessEnv, number][] = [
  ['limits with a mistake', () => ({ HEADGATE_RATELIMIT_CONFIG: wrongLimits }), 3],
  ['a folder of limits that is missing', () => ({ HEADGATE_RATELIMIT_CONFIG: '/missing' }), 3],
  ['a junk certificate', () => ({ HEADGATE_GRPC_TLS_CERT: junk, HEADGATE_GRPC_TLS_KEY: junk }), 3],
  ['a taken port for checks', () => ({ HEADGATE_PORT: takenPort }), 1],
  ['a taken port for gRPC', () => ({ HEADGATE_GRPC_PORT: takenPort }), 1],
  ['a taken port for operators', () => ({ HEADGATE_OPS_PORT: takenPort }), 1],
  [
    'a taken port for JSON',
    () => ({ HEADGATE_RATELIMIT_CONFIG: limits, HEADGATE_RATELIMIT_HTTP_PORT: takenPort }),
    1,
  ],
  ['a unix socket in no folder', () => ({ HEADGATE_LISTEN: 'unix:/missing/socket' }), 1],
  ['a control plane without a port', () => ({ HEADGATE_RATELIMIT_CONTROL_PLANE: 'edge' }), 3],
];

describe.each(FAILURES)('%s', (_what, failure, code) => {
  test.each([
    ['1', 'unreachable'],
    ['1', 'silent'],
    ['2', 'well'],
  ])('ends a gateway with %s workers whose Redis is %s', async (workers, redis) => {
    if (redisUrls[redis] === undefined) return;
    const env = { HEADGATE_WORKERS: workers, HEADGATE_REDIS_URL: redisUrls[redis] };
    await using gateway = start({ ...env, ...failure() });
    const seen = new Set<number>();
    let isGone = false;
    const exited = gateway.exited().finally(() => {
      isGone = true;
    });
    await eventually(
      async () => {
        for (const pid of await workersOf(gateway).catch(() => [])) seen.add(pid);
        return isGone;
      },
      (gone) => gone,
      WITHIN_MS,
      'the end of the process',
    );
    expect(await exited).toBe(code);
    for (const pid of seen) await ended(pid);
  });
});

const ended = (pid: number) =>
  eventually(
    async () => existsSync(`/proc/${pid}/exe`),
    (isThere) => !isThere,
    WITHIN_MS,
    `the end of process ${pid}`,
  );

/** A supervisor whose first worker is starting, and that worker. */
async function startingSupervisor(redis: string) {
  const gateway = start({
    HEADGATE_WORKERS: '2',
    HEADGATE_OPS_PORT: String(await freePort()),
    HEADGATE_REDIS_URL: redis,
  });
  const [worker = 0] = await eventually(
    () => workersOf(gateway).catch(() => []),
    (pids) => pids.length > 0,
    WITHIN_MS,
    'a worker',
  );
  return { gateway, worker };
}

describe('a supervisor that ends while a worker starts takes the worker with it', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('%s', async (signal) => {
    const { gateway, worker } = await startingSupervisor(redisUrls.silent ?? '');
    await using _ended = gateway;
    gateway.signal(signal);
    expect(await gateway.exited()).toBe(signal === 'SIGKILL' ? null : 0);
    await ended(worker);
  });

  test('a second SIGTERM, with a worker that is frozen', async () => {
    const { gateway, worker } = await startingSupervisor(redisUrls.silent ?? '');
    await using _ended = gateway;
    process.kill(worker, 'SIGSTOP');
    gateway.signal('SIGTERM');
    await gateway.printed(/"stopping"/);
    gateway.signal('SIGTERM');
    expect(await gateway.exited()).toBe(1);
    await ended(worker);
  });
});
