/** A gateway with several worker processes. Most tests use the same gateway, one after the other. */
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { headerOf, type Outcome, startLoad } from '../../tools/load/open-loop.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, PATIENT, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { seriesIn } from '../support/metrics.ts';
import { connectBeforeSignal, fatesOf, openConnections } from '../support/new-connections.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { MAIN, NODE } from '../support/tested-command.ts';
import { workersOf } from './support/workers.ts';

const WORKERS = 2;
/** Each step, on a busy machine. */
const WITHIN_MS = 60_000;
/** Long enough to see that the gateway drains. */
const DRAIN_MS = 1_500;

const started = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'headgate-workers-'));
const policyFile = join(folder, 'policies.yaml');
const policies = (limit: string) => `version: 1
default: { limits: [${limit}] }
policies: [{ name: login, match: { path: /login }, limits: [5/1h] }]
`;

let redis: TestRedis;
let gateway: GatewayProcess;

const settings = () => ({
  ...PATIENT,
  HEADGATE_REDIS_URL: redis.url,
  HEADGATE_WORKERS: String(WORKERS),
});
const withoutGrpc = (): NodeJS.ProcessEnv => ({
  ...process.env,
  ...settings(),
  HEADGATE_OPS_PORT: '0',
  HEADGATE_GRPC_PORT: 'off',
  HEADGATE_DRAIN_MS: '0',
});

/** Opens a connection for each request, so that every worker gets some. */
const newConnections = new Agent();
const check = (path: string, client: string) =>
  call(gateway.url, `/envoy${path}`, {
    headers: { 'x-headgate-client-ip': client },
    agent: newConnections,
  });
const readiness = () => call(gateway.opsUrl, '/readyz');

async function metric(name: string): Promise<number> {
  const { body } = await call(gateway.opsUrl, '/metrics');
  return seriesIn(body, name) ?? Number.NaN;
}

/** On a busy machine, a worker may report too late for one call of /metrics. */
async function expectMetric(name: string, value: number): Promise<void> {
  await eventually(
    () => metric(name),
    (found) => found === value,
    WITHIN_MS,
    `${name} ${value}`,
  );
}

/** Denials tell the workers apart: a decision id begins with the id of its process. */
async function allWorkersAnswer(): Promise<void> {
  const processes = new Set<string>();
  await eventually(
    async () => {
      const { headers } = await check('/login', '192.0.2.1');
      return processes.add(String(headers['x-ratelimit-decision-id']).split('-')[0] ?? '').size;
    },
    (count) => count === WORKERS,
    WITHIN_MS,
    'an answer of each worker',
  );
}

async function expectEvents(event: string, times: number): Promise<void> {
  await eventually(
    async () => gateway.output().match(new RegExp(`"event":"${event}"`, 'g'))?.length ?? 0,
    (found) => found >= times,
    WITHIN_MS,
    `${event} ${times} times`,
  );
}

/** Sends requests on three connections while `act` runs, and resolves to all outcomes. */
async function loadDuring(act: () => Promise<void>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const loads = Array.from({ length: 3 }, (_, load) =>
    startLoad({
      url: gateway.url,
      perSecond: 30,
      // Each connection is always in use, because an idle one may be closed while a request is on its way.
      maxConnections: 1,
      patienceMs: WITHIN_MS,
      request: (i) => ({
        path: '/envoy/a',
        headers: { 'x-headgate-client-ip': `10.${load}.${i & 255}.1` },
      }),
      onOutcome: (outcome) => outcomes.push(outcome),
    }),
  );
  await act();
  await Promise.all(loads.map((load) => load.stop()));
  return outcomes;
}

const failed = (outcomes: readonly Outcome[]) =>
  outcomes.filter(({ status }) => status !== 200).map(({ status, error }) => error ?? status);

beforeAll(async () => {
  started.defer(() => rmSync(folder, { recursive: true }));
  if (redisIsHere) redis = started.use(await startRedis());
});
afterAll(() => started.disposeAsync());

describe.skipIf(!redisIsHere)('a gateway with two workers', () => {
  beforeAll(async () => {
    writeFileSync(policyFile, policies('1000/1h'));
    const env = { HEADGATE_POLICIES: policyFile, HEADGATE_DRAIN_MS: String(DRAIN_MS) };
    gateway = started.use(await startGatewayProcess({ ...settings(), ...env }));
  });

  test('has one limit and one set of metrics', async () => {
    for (const client of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      expect(await statuses(8, () => check('/login', client))).toEqual([
        ...Array(5).fill(200),
        ...Array(3).fill(429),
      ]);
    }
    await expectMetric('headgate_decisions_total{policy="login",verdict="allow"}', 15);
    await expectMetric('headgate_decision_duration_seconds_count', 24);
    expect(await readiness()).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  test('keeps its workers if the policy file has a mistake', async () => {
    const before = await workersOf(gateway);
    writeFileSync(policyFile, policies('1000/1hour'));
    await expectEvents('policies_refused', WORKERS);
    await expectMetric('headgate_policy_reloads_total{result="error"}', WORKERS);
    await expectMetric('headgate_config_last_reload_successful', 0);
    gateway.signal('SIGUSR2');
    await gateway.printed(/"event":"workers_kept"/);
    expect(await workersOf(gateway)).toEqual(before);
    writeFileSync(policyFile, policies('2000/1h'));
    gateway.signal('SIGHUP');
    await expectEvents('policies_loaded', WORKERS);
    await expectMetric('headgate_config_last_reload_successful', 1);
    const answers = await Promise.all(Array.from({ length: 6 }, () => check('/a', '192.0.2.4')));
    const limits = answers.map(({ headers }) => headers['x-ratelimit-limit']);
    expect(limits).toEqual(Array(6).fill('2000'));
  });

  test('answers the connections of a worker that is killed, and replaces it', async () => {
    const [frozen = 0] = await workersOf(gateway);
    process.kill(frozen, 'SIGSTOP');
    const connections = openConnections(gateway.port, 20);
    let ended = 0;
    for (const { fate } of connections) void fate.then(() => ended++);
    // The frozen worker has the other one.
    await eventually(
      async () => ended,
      (count) => count === 19,
      WITHIN_MS,
    );
    process.kill(frozen, 'SIGKILL');
    expect(await fatesOf(connections)).toEqual({ answered: 20 });
    await gateway.printed(/"event":"worker_lost","worker":\d+,"how":"SIGKILL"/);
    await allWorkersAnswer();
    expect(await workersOf(gateway)).not.toContain(frozen);
    await expectMetric('headgate_workers_lost_total', 1);
  });

  test('names a worker that hangs, gives its connections to the other one, and replaces it', async () => {
    const [frozen = 0] = await workersOf(gateway);
    const lost = await metric('headgate_workers_lost_total');
    process.kill(frozen, 'SIGSTOP');
    const isNamed = async () => JSON.parse((await readiness()).body);
    const health = await eventually(
      isNamed,
      ({ unresponsive_workers: hanging = [] }) => hanging.length === 1,
      WITHIN_MS,
      'the worker in /readyz',
    );
    expect(health).toMatchObject({ status: 'degraded' });
    // One of them was meant for the frozen worker.
    expect(await fatesOf(openConnections(gateway.port, 20))).toEqual({ answered: 20 });
    await gateway.printed(/"event":"worker_unresponsive"/);
    await expectMetric('headgate_workers_lost_total', lost + 1);
    await eventually(
      readiness,
      ({ body }) => body === '{"status":"ok"}',
      WITHIN_MS,
      'a gateway that is ready',
    );
    await allWorkersAnswer();
    expect(await workersOf(gateway)).not.toContain(frozen);
  });

  test('answers readiness probes while a worker is frozen, and is not ready without workers', async () => {
    const [frozen = 0, ...others] = await workersOf(gateway);
    process.kill(frozen, 'SIGSTOP');
    let hasMetrics = false;
    // This waits a second for the report of the frozen worker.
    const metrics = call(gateway.opsUrl, '/metrics').then(() => {
      hasMetrics = true;
    });
    expect(await statuses(3, readiness)).toEqual([200, 200, 200]);
    expect(hasMetrics).toBe(false);
    await metrics;
    // No new worker starts while the file has a mistake.
    writeFileSync(policyFile, policies('2000/1hour'));
    for (const pid of [...others, frozen]) process.kill(pid, 'SIGKILL');
    await eventually(readiness, ({ status }) => status === 503, WITHIN_MS);
    writeFileSync(policyFile, policies('2000/1h'));
    await eventually(readiness, ({ status }) => status === 200, WITHIN_MS);
    await allWorkersAnswer();
  });

  test('replaces every worker on SIGUSR2 without failing a request', async () => {
    const countBefore = await metric('headgate_decision_duration_seconds_count');
    const before = await workersOf(gateway);
    let answered = 0;
    const outcomes = await loadDuring(async () => {
      gateway.signal('SIGUSR2');
      let isReplaced = false;
      void gateway.printed(/"event":"workers_replaced","workers":2/).then(() => {
        isReplaced = true;
      });
      while (!isReplaced) {
        expect(await fatesOf(openConnections(gateway.port, 4))).toEqual({ answered: 4 });
        answered += 4;
        // The new workers need the processor, too.
        await sleep(50);
      }
    });
    const after = await workersOf(gateway);
    expect(after).toHaveLength(WORKERS);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(outcomes.length).toBeGreaterThan(100);
    expect(failed(outcomes)).toEqual([]);
    expect(outcomes.filter((each) => headerOf(each, 'x-ratelimit-mode') !== undefined)).toEqual([]);
    // The metrics include what the old workers counted.
    const count = countBefore + outcomes.length + answered;
    await expectMetric('headgate_decision_duration_seconds_count', count);
  });

  test('drains on SIGTERM, and ends with all of its workers', async () => {
    const pids = await workersOf(gateway);
    const outcomes = await loadDuring(async () => {
      gateway.signal('SIGTERM');
      await gateway.printed(/"event":"stopping","signal":"SIGTERM"/);
      expect((await readiness()).status).toBe(503);
    });
    expect(failed(outcomes)).toEqual([]);
    expect(await gateway.exited()).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe.skipIf(!redisIsHere)('a gateway with two workers on a unix socket', () => {
  const socket = join(folder, 'check.sock');
  const node = join(folder, 'node');
  let running: RunningProcess;
  beforeAll(async () => {
    copyFileSync(NODE, node);
    const env = { ...withoutGrpc(), HEADGATE_LISTEN: `unix:${socket}` };
    running = started.use(startProcess(node, [MAIN], { env }));
    await running.printed(/proxies at unix:.*\n[\s\S]*curl .*\n/);
  });

  const check = async () => {
    const headers = { 'x-headgate-client-ip': '192.0.2.9' };
    const options = { socketPath: socket, agent: newConnections, headers };
    return (await call('http://localhost', '/envoy/a', options)).status;
  };

  test('answers on the socket', async () => {
    for (let i = 0; i < 4; i++) expect(await check()).toBe(200);
  });

  test('keeps its workers if no new worker can be started', async () => {
    renameSync(node, join(folder, 'upgraded'));
    running.signal('SIGUSR2');
    await running.printed(/"event":"workers_kept".*ENOENT/);
    expect(await check()).toBe(200);
  });

  test('answers connections that it has not accepted before SIGTERM', async () => {
    const waiting = await connectBeforeSignal(socket, running, 'SIGTERM');
    expect(await fatesOf(waiting)).toEqual({ answered: waiting.length });
    expect(await running.exited()).toBe(0);
    expect(await fatesOf(openConnections(socket, 5))).toEqual({ refused: 5 });
  });
});

test.skipIf(!redisIsHere)('prints once that the port is taken, and exits with 1', async () => {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const refused = startProcess(NODE, [MAIN], {
    env: { ...withoutGrpc(), HEADGATE_PORT: String(port) },
  });
  expect(await refused.exited()).toBe(1);
  expect(refused.output().match(/port \d+ is taken/g)).toEqual([`port ${port} is taken`]);
});
