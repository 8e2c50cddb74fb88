/** What a gateway connects with what: each of these is a line of its composition. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OpenResources } from '../../../../src/gateway/app/open-resources.ts';
import { createPortlessGateway } from '../../../../src/gateway/app/portless-gateway.ts';
import { createSharedState } from '../../../../src/gateway/app/shared-state.ts';
import { monitorStore } from '../../../../src/gateway/app/store-monitor.ts';
import { createWorkerGateway } from '../../../../src/gateway/app/worker-gateway.ts';
import type { WorkerReport } from '../../../../src/gateway/app/workers/messages.ts';
import { openPolicySource } from '../../../../src/gateway/config/policy-file/policy-source.ts';
import { readEnvironment } from '../../../../src/gateway/config/settings/environment.ts';
import { RESET_CHANNEL } from '../../../../src/gateway/stores/redis/channels.ts';
import { waitUntil } from '../../../support/eventually.ts';
import { bulk, startFakeRedis } from '../../../support/fake-redis.ts';
import { FakeWorker } from '../../../support/fake-worker.ts';
import { listenLocally } from '../../../support/local-server.ts';
import { descriptorOf } from '../../../support/quotas.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';
import { temporaryFile } from '../../../support/temporary.ts';

const forked: FakeWorker[] = [];
// Its processes are the only part of a gateway with workers that a unit test cannot have.
vi.mock('../../../../src/gateway/app/workers/worker-handle.ts', async (original) => {
  const module =
    await original<typeof import('../../../../src/gateway/app/workers/worker-handle.ts')>();
  return {
    ...module,
    forkWorker(slot: number) {
      const worker = new FakeWorker(slot + 1);
      forked.push(worker);
      return new module.WorkerHandle(slot, worker.asForked);
    },
  };
});

let started: AsyncDisposableStack;
let resources: OpenResources;
beforeEach(() => {
  started = new AsyncDisposableStack();
  resources = new OpenResources();
  forked.length = 0;
});
afterEach(async () => {
  await resources.close();
  await started.disposeAsync();
});

const YAML = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [5/1h] }\n';

function optionsFrom(settings: NodeJS.ProcessEnv) {
  const { telemetry } = observedTelemetry();
  const environment = readEnvironment({
    ...{ HEADGATE_PORT: '0', HEADGATE_GRPC_PORT: '0', HEADGATE_OPS_PORT: '0' },
    HEADGATE_POLICIES: temporaryFile(started, YAML),
    ...settings,
  });
  return { environment, telemetry, resources, now: () => NOON_MS };
}

test('a gateway answers and remembers whom it denied; once it closes, it leaves connections to others', async () => {
  const options = optionsFrom({});
  const policies = openPolicySource(options.environment);
  const gateway = await createPortlessGateway({ ...options, policies });
  expect(await gateway.start()).toBe('counts');
  const offered: boolean[] = [];
  const server = createServer((connection) => offered.push(gateway.take('check', connection)));
  const { port } = started.use(await listenLocally(server));
  const open = async () => {
    const accepted = once(server, 'connection');
    const proxy = connect(port, '127.0.0.1');
    const [connection] = (await accepted) as [Socket];
    return { connection, proxy };
  };
  const { proxy } = await open();
  const ask = async () => {
    proxy.write('GET /envoy/a HTTP/1.1\r\nHost: a\r\n\r\n');
    const [answer] = (await once(proxy, 'data')) as [Buffer];
    return answer.toString().slice(0, 12);
  };
  const answers: string[] = [];
  for (let i = 0; i < 6; i++) answers.push(await ask());
  expect(answers).toEqual([...Array(5).fill('HTTP/1.1 200'), 'HTTP/1.1 429']);
  // Its own answer to the question that it asks all gateways.
  expect(await gateway.operate('top', {})).toMatchObject({
    gateways: { asked: 1, answered: 1 },
    clients: [{ policy: 'default', denials: 1 }],
  });
  const closed = once(proxy, 'close');
  await resources.close();
  const { connection } = await open();
  expect(offered).toEqual([true, false]);
  expect(connection.destroyed).toBe(false);
  await closed;
});

test('a reset of another gateway reaches the local limiter, which counts in an outage', async () => {
  const redis = started.use(await startFakeRedis());
  let subscriber: Socket | undefined;
  let kind = '';
  redis.misbehave(({ name, words, socket, answer }) => {
    if (name !== 'subscribe') return false;
    // One answer for each channel.
    kind = answer.slice(0, 1);
    for (const channel of words.slice(1))
      socket.write(`${kind}3\r\n${bulk('subscribe')}${bulk(channel)}:1\r\n`);
    if (words.includes(RESET_CHANNEL)) subscriber = socket;
    return true;
  });
  const options = optionsFrom({ HEADGATE_REDIS_URL: redis.url });
  const { telemetry } = options;
  const reset: (readonly string[])[] = [];
  const shared = await createSharedState({
    ...options,
    policies: openPolicySource(options.environment),
    monitor: monitorStore(telemetry, options.now),
    onReset: (keys) => reset.push(keys),
  });
  await shared.connect();
  await waitUntil('it hears the others', async () => subscriber !== undefined);
  const counted = ['denied', 'other'].map((key) =>
    descriptorOf(key, { limit: 1, windowMs: 60_000 }),
  );
  shared.local.record(counted);
  const left = () => shared.local.peek(counted).states.map(({ remaining }) => remaining);
  expect(left()).toEqual([0, 0]);
  const parts = ['message', RESET_CHANNEL, JSON.stringify(['denied'])];
  subscriber?.write(`${kind}3\r\n${parts.map(bulk).join('')}`);
  await waitUntil('the reset', async () => reset.length > 0);
  expect(reset).toEqual([['denied']]);
  expect(left()).toEqual([1, 0]);
});

test('a gateway is degraded if any of its workers is, and has the headers that any of them lacks', async () => {
  const { environment, ...options } = optionsFrom({
    ...{ HEADGATE_WORKERS: '3', HEADGATE_REDIS_URL: 'redis://127.0.0.1:1' },
  });
  const gateway = createWorkerGateway({ environment, ...options });
  const listening = gateway.listen();
  for (const index of [0, 1, 2]) {
    await waitUntil('a worker', async () => forked.length > index);
    forked[index]?.says({ type: 'ready', store: 'counts' });
  }
  const { ops } = await listening;
  const report: WorkerReport = {
    metrics: [],
    degraded: false,
    unseenHeaders: [],
    unsettledPolicies: [],
  };
  const unseen = (header: string) => ({ dialect: 'nginx', header, requests: 100 });
  const readiness = async (reports: readonly Partial<WorkerReport>[]) => {
    for (const [index, each] of reports.entries())
      forked[index]?.says({ type: 'report', report: { ...report, ...each } } as never);
    return (await fetch(`http://127.0.0.1:${ops?.port}/readyz`)).json();
  };
  expect(await readiness([{}, {}, {}])).toEqual({ status: 'ok' });
  for (const index of [0, 1, 2]) {
    const reports = [0, 1, 2].map((each) => ({ degraded: each === index }));
    expect(await readiness(reports)).toEqual({ status: 'degraded' });
  }
  const found = await readiness([
    { unseenHeaders: [unseen('x-a')] },
    { unseenHeaders: [unseen('x-b'), unseen('x-a')] },
    {},
  ]);
  expect(found).toEqual({
    status: 'ok',
    unseen_headers: [
      { dialect: 'nginx', header: 'x-a' },
      { dialect: 'nginx', header: 'x-b' },
    ],
  });
  for (const worker of forked) worker.exits(0);
});
