/** How a gateway stops: by SIGTERM so that nobody notices, by Ctrl+C at once, by a second signal by force. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { startProcess } from '../support/process.ts';
import { startRedis, testWithOwnRedis } from '../support/redis.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const DRAIN_MS = 1_500;
const draining = (env: NodeJS.ProcessEnv = {}) =>
  startGatewayProcess({ HEADGATE_DRAIN_MS: String(DRAIN_MS), ...env });
const readiness = (gateway: GatewayProcess) => call(gateway.opsUrl, '/readyz');
const notReady = (gateway: GatewayProcess) =>
  eventually(
    () => readiness(gateway),
    ({ status }) => status === 503,
  );

/** A connection that is kept, for requests written by hand. */
async function keptConnection(gateway: GatewayProcess) {
  const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  return { socket, closed, ask: () => askOn(socket) };
}

async function askOn(socket: Socket): Promise<string> {
  socket.write('GET /envoy/api/search HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = await once(socket, 'data');
  return answer;
}

test('after SIGTERM it is not ready, and goes on answering until its time is over', async () => {
  const gateway = await draining();
  const idle = await keptConnection(gateway);
  expect(await idle.ask()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: keep-alive\r\n/);
  const startedMs = performance.now();
  gateway.signal('SIGTERM');
  expect((await notReady(gateway)).body).toBe('{"status":"not_ready"}');
  // Those who are still connected, and those who come anew, are answered, and sent elsewhere for what they ask next.
  expect(await idle.ask()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n/);
  await idle.closed;
  const late = await keptConnection(gateway);
  expect(await late.ask()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n/);
  expect((await call(gateway.opsUrl, '/livez')).status).toBe(200);
  expect(await gateway.exited()).toBe(0);
  const tookMs = performance.now() - startedMs;
  expect(tookMs).toBeGreaterThanOrEqual(DRAIN_MS);
  expect(gateway.output()).toMatch(/"event":"stopping","signal":"SIGTERM"/);
});

test('connections that stay idle are kept until the end, and closed then', async () => {
  const gateway = await draining();
  const idle = await keptConnection(gateway);
  await idle.ask();
  gateway.signal('SIGTERM');
  await notReady(gateway);
  expect(await Promise.race([idle.closed.then(() => 'closed'), sleep(300)])).toBeUndefined();
  await idle.closed;
  expect(await gateway.exited()).toBe(0);
});

test('a caller that never finishes its question does not keep it', async () => {
  const gateway = await startGatewayProcess();
  const slow = await keptConnection(gateway);
  slow.socket.write('GET /envoy/a HTTP/1.1\r\nHost');
  await eventually(
    () => call(gateway.url, '/envoy/api/search'),
    ({ status }) => status === 200,
  );
  gateway.signal('SIGTERM');
  await slow.closed;
  expect(await gateway.exited()).toBe(0);
});

test('a second signal ends it at once, with exit code 1', async () => {
  const gateway = await startGatewayProcess({ HEADGATE_DRAIN_MS: '600000' });
  gateway.signal('SIGTERM');
  await notReady(gateway);
  gateway.signal('SIGTERM');
  expect(await gateway.exited()).toBe(1);
  expect(gateway.output()).toMatch(/"event":"stopped_by_force","why":"a second signal, SIGTERM"/);
});

test('Ctrl+C waits for nobody who may come yet', async () => {
  const gateway = await startGatewayProcess({ HEADGATE_DRAIN_MS: '600000' });
  gateway.signal('SIGINT');
  expect(await gateway.exited()).toBe(0);
});

testWithOwnRedis('requests under way are answered, also while Redis hangs', async () => {
  await using redis = await startRedis();
  const gateway = await startGatewayProcess({
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_STORE_TIMEOUT_MS: '500',
  });
  await call(gateway.url, '/envoy/api/search');
  redis.signal('SIGSTOP');
  const answer = call(gateway.url, '/envoy/api/search');
  await sleep(100);
  gateway.signal('SIGTERM');
  expect(await answer).toMatchObject({
    status: 200,
    headers: { 'x-ratelimit-mode': 'open', connection: 'close' },
  });
  expect(await gateway.exited()).toBe(0);
  redis.signal('SIGCONT');
});

/** The first process of a container has no signal that ends it unless it says so. */
const canBeFirst = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;

test.skipIf(!canBeFirst)('it stops as the first process of a container, too', async () => {
  const args = ['--pid', '--fork', '--kill-child', NODE, MAIN];
  const env = {
    ...process.env,
    HEADGATE_PORT: '0',
    HEADGATE_OPS_PORT: '0',
    HEADGATE_GRPC_PORT: 'off',
    HEADGATE_DRAIN_MS: '0',
  };
  const container = startProcess('unshare', args, { env });
  await container.printed(/curl .*\n/);
  const children = await readFile(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8');
  process.kill(Number(children), 'SIGTERM');
  expect(await container.exited()).toBe(0);
});
