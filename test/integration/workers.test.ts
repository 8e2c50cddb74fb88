/** Several worker processes as one gateway. */

import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { headerOf, type Outcome, startLoad } from '../../tools/load/open-loop.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { startProcess } from '../support/process.ts';
import { startRedis, type TestRedis, testWithRedis } from '../support/redis.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const WORKERS = 3;
const folder = mkdtempSync(join(tmpdir(), 'headgate-workers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const start = (redis: TestRedis, env: NodeJS.ProcessEnv = {}) =>
  startGatewayProcess({ HEADGATE_REDIS_URL: redis.url, HEADGATE_WORKERS: String(WORKERS), ...env });

/** Each on a connection of its own, so that all workers have a turn. */
const oneByOne = new Agent();
const login = (gateway: GatewayProcess, key: string) =>
  call(gateway.url, '/envoy/api/auth/login', {
    method: 'POST',
    headers: { 'x-api-key': key, 'x-headgate-client-ip': `198.51.100.${key.length}` },
    agent: oneByOne,
  });

async function workersOf(gateway: GatewayProcess): Promise<number[]> {
  const path = `/proc/${gateway.pid}/task/${gateway.pid}/children`;
  const text = (await readFile(path, 'utf8')).trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

async function metric(gateway: GatewayProcess, name: string): Promise<number> {
  const { body } = await call(gateway.opsUrl, '/metrics');
  const line = body.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

/** Requests that never stop while something happens, and what became of them. */
async function during(gateway: GatewayProcess, happens: () => Promise<void>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  // Each on one connection, which is in use all the time: one that stays idle to the end may be closed as it is used.
  const loads = Array.from({ length: 3 }, (_, load) =>
    startLoad({
      url: gateway.url,
      perSecond: 100,
      maxConnections: 1,
      request: (i) => ({
        path: '/envoy/a',
        headers: { 'x-headgate-client-ip': `10.${load}.${i & 255}.1` },
      }),
      onOutcome: (outcome) => outcomes.push(outcome),
    }),
  );
  await happens();
  await Promise.all(loads.map((load) => load.stop()));
  return outcomes;
}

const failed = (outcomes: readonly Outcome[]) =>
  outcomes.filter(({ status }) => status !== 200).map(({ status, error }) => error ?? status);

testWithRedis('all workers together hold one limit, and count as one', async () => {
  await using redis = await startRedis();
  await using gateway = await start(redis);
  for (const key of ['a', 'bc', 'def']) {
    expect(await statuses(8, () => login(gateway, key))).toEqual([
      ...Array(5).fill(200),
      ...Array(3).fill(429),
    ]);
  }
  expect(await metric(gateway, 'headgate_decisions_total{policy="login",verdict="allow"}')).toBe(
    15,
  );
  expect(await metric(gateway, 'headgate_decision_duration_seconds_count')).toBe(24);
  expect(await call(gateway.opsUrl, '/readyz')).toMatchObject({
    status: 200,
    body: '{"status":"ok"}',
  });
});

testWithRedis('SIGUSR2 replaces every worker, and no request fails', async () => {
  await using redis = await startRedis();
  await using gateway = await start(redis, { HEADGATE_DRAIN_MS: '300' });
  const before = await workersOf(gateway);
  const outcomes = await during(gateway, async () => {
    gateway.signal('SIGUSR2');
    await gateway.printed(/"event":"workers_replaced","workers":3/);
  });
  const after = await workersOf(gateway);
  expect(after).toHaveLength(WORKERS);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(100);
  expect(failed(outcomes)).toEqual([]);
  expect(outcomes.filter((each) => headerOf(each, 'x-ratelimit-mode') !== undefined)).toEqual([]);
  // What the old ones counted is not forgotten.
  expect(await metric(gateway, 'headgate_decision_duration_seconds_count')).toBe(outcomes.length);
});

testWithRedis('a worker that is killed is replaced, and counted as lost', async () => {
  await using redis = await startRedis();
  await using gateway = await start(redis);
  const [victim = 0] = await workersOf(gateway);
  process.kill(victim, 'SIGKILL');
  await gateway.printed(/"event":"worker_lost","worker":\d+,"how":"SIGKILL"/);
  await eventually(
    () => workersOf(gateway),
    (pids) => pids.length === WORKERS,
  );
  expect(await metric(gateway, 'headgate_workers_lost_total')).toBe(1);
  expect((await login(gateway, 'a')).status).toBe(200);
});

testWithRedis('while no worker answers it is not ready, and a probe has not to wait', async () => {
  await using redis = await startRedis();
  const path = join(folder, 'good-at-first.yaml');
  writeFileSync(path, 'version: 1\ndefault: { limits: [7/1h] }\n');
  await using gateway = await start(redis, { HEADGATE_POLICIES: path });
  writeFileSync(path, 'version: 1\ndefault: { limits: [7/1hour] }\n');
  const pids = await workersOf(gateway);
  const [frozen = 0, ...others] = pids;
  process.kill(frozen, 'SIGSTOP');
  const ask = () => call(gateway.opsUrl, '/readyz');
  const startedMs = performance.now();
  const codes = await Promise.all([ask(), ask(), ask()]);
  expect(codes.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(performance.now() - startedMs).toBeLessThan(800);
  for (const pid of [...others, frozen]) process.kill(pid, 'SIGKILL');
  await eventually(ask, ({ status }) => status === 503);
  // None of the new ones starts, until the file is mended.
  writeFileSync(path, 'version: 1\ndefault: { limits: [7/1h] }\n');
  await eventually(ask, ({ status }) => status === 200, 15_000);
});

testWithRedis('a worker that cannot be made leaves the others', async () => {
  await using redis = await startRedis();
  const node = join(folder, 'node');
  copyFileSync(NODE, node);
  const env = {
    ...process.env,
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_WORKERS: '2',
    HEADGATE_PORT: '0',
    HEADGATE_OPS_PORT: '0',
    HEADGATE_GRPC_PORT: 'off',
    HEADGATE_DRAIN_MS: '0',
  };
  await using gateway = startProcess(node, [MAIN], { env });
  const [, url = ''] = await gateway.printed(/proxies at (http:\S+) and operators[\s\S]*curl .*\n/);
  renameSync(node, join(folder, 'upgraded'));
  gateway.signal('SIGUSR2');
  await gateway.printed(/"event":"workers_kept".*ENOENT/);
  expect((await call(url, '/envoy/a')).status).toBe(200);
});

testWithRedis('a file with mistakes keeps the workers that run', async () => {
  await using redis = await startRedis();
  const path = join(folder, 'policies.yaml');
  writeFileSync(path, 'version: 1\ndefault: { limits: [7/1h] }\n');
  await using gateway = await start(redis, { HEADGATE_POLICIES: path });
  const before = await workersOf(gateway);
  writeFileSync(path, 'version: 1\ndefault: { limits: [7/1hour] }\n');
  // In every worker.
  await eventually(
    async () => gateway.output().match(/"worker":\d+,"event":"policies_refused"/g)?.length,
    (times) => times === WORKERS,
  );
  expect(await metric(gateway, 'headgate_policy_reloads_total{result="error"}')).toBe(WORKERS);
  expect(await metric(gateway, 'headgate_config_last_reload_successful')).toBe(0);
  gateway.signal('SIGUSR2');
  await gateway.printed(/"event":"workers_kept"/);
  expect(await workersOf(gateway)).toEqual(before);
  writeFileSync(path, 'version: 1\ndefault: { limits: [8/1h] }\n');
  gateway.signal('SIGHUP');
  await eventually(
    async () => gateway.output().match(/"event":"policies_loaded"/g)?.length,
    (times) => times !== undefined && times >= WORKERS,
  );
  expect(await metric(gateway, 'headgate_config_last_reload_successful')).toBe(1);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => call(gateway.url, '/envoy/a', { agent: oneByOne })),
  );
  expect(answers.map(({ headers }) => headers['x-ratelimit-limit'])).toEqual(Array(6).fill('8'));
});

testWithRedis('SIGTERM drains all of them; nobody is left behind', async () => {
  await using redis = await startRedis();
  const gateway = await start(redis, { HEADGATE_DRAIN_MS: '800' });
  const pids = await workersOf(gateway);
  const outcomes = await during(gateway, async () => {
    gateway.signal('SIGTERM');
    await eventually(
      () => call(gateway.opsUrl, '/readyz'),
      ({ status }) => status === 503,
    );
  });
  expect(failed(outcomes)).toEqual([]);
  expect(await gateway.exited()).toBe(0);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

testWithRedis('a taken port is named once, with exit code 1', async () => {
  await using redis = await startRedis();
  await using gateway = await startGatewayProcess();
  const env = {
    ...process.env,
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_WORKERS: '2',
    HEADGATE_PORT: String(gateway.port),
    HEADGATE_OPS_PORT: '0',
    HEADGATE_GRPC_PORT: 'off',
  };
  const second = startProcess(NODE, [MAIN], { env });
  expect(await second.exited()).toBe(1);
  expect(second.output().match(/port \d+ is taken/g)).toEqual([`port ${gateway.port} is taken`]);
});

testWithRedis('workers share a unix socket', async () => {
  await using redis = await startRedis();
  const socket = join(folder, 'check.sock');
  const env = {
    ...process.env,
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_WORKERS: '2',
    HEADGATE_LISTEN: `unix:${socket}`,
    HEADGATE_OPS_PORT: '0',
    HEADGATE_GRPC_PORT: 'off',
    HEADGATE_DRAIN_MS: '0',
  };
  await using gateway = startProcess(NODE, [MAIN], { env });
  await gateway.printed(/proxies at unix:.*\n[\s\S]*curl .*\n/);
  const curl = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--unix-socket', socket];
  for (let i = 0; i < 4; i++) {
    const asked = startProcess('curl', [...curl, 'http://localhost/envoy/a']);
    await asked.exited();
    expect(asked.output()).toBe('200');
  }
  await gateway.stop();
});

test('in memory each would count by itself, so that is refused, with exit code 3', async () => {
  const { REDIS_URL, ...rest } = process.env;
  const refused = startProcess(NODE, [MAIN], {
    env: { ...rest, HEADGATE_WORKERS: '4' },
  });
  expect(await refused.exited()).toBe(3);
  expect(refused.output()).toContain('HEADGATE_WORKERS: several workers need HEADGATE_REDIS_URL');
});
