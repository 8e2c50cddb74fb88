/** How a gateway stops: after draining on SIGTERM, without draining on SIGINT, by force on a second signal. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { eventually, waitUntil } from '../support/eventually.ts';
import { startFakeRedis } from '../support/fake-redis.ts';
import {
  type Gateway,
  type GatewayProcess,
  startGateway,
  startGatewayProcess,
} from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { startProcess } from '../support/process.ts';
import { canSeal, SEALED } from '../support/sealed-network.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const DRAIN_MS = 2_500;
const startDraining = () => startGatewayProcess({ HEADGATE_DRAIN_MS: String(DRAIN_MS) });
const notReady = (gateway: GatewayProcess) =>
  eventually(
    () => call(gateway.opsUrl, '/readyz'),
    ({ status }) => status === 503,
  );

/** Opens a connection that is kept alive. */
async function connectTo(gateway: Gateway) {
  const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  return { socket, closed, check: () => checkOn(socket) };
}

async function checkOn(socket: Socket): Promise<string> {
  socket.write('GET /envoy/api/search HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = await once(socket, 'data');
  return answer;
}

test('SIGTERM drains: the gateway is not ready, answers for a while, and then closes all connections', async () => {
  const gateway = await startDraining();
  const active = await connectTo(gateway);
  expect(await active.check()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: keep-alive\r\n/);
  const idle = await connectTo(gateway);
  await idle.check();
  const incomplete = await connectTo(gateway);
  incomplete.socket.write('GET /envoy/a HTTP/1.1\r\nHost');
  const isIdleClosed = () => idle.socket.closed;

  const startedMs = performance.now();
  gateway.signal('SIGTERM');
  expect((await notReady(gateway)).body).toBe('{"status":"not_ready"}');
  // Clients get their answers, and are told to use another connection for their next request.
  expect(await active.check()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n/);
  await active.closed;
  const late = await connectTo(gateway);
  expect(await late.check()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n/);
  expect((await call(gateway.opsUrl, '/livez')).status).toBe(200);
  expect(isIdleClosed()).toBe(false);

  await Promise.all([idle.closed, incomplete.closed]);
  expect(await gateway.exited()).toBe(0);
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(DRAIN_MS);
  expect(gateway.output()).toMatch(/"event":"stopping","signal":"SIGTERM"/);
});

test('SIGINT stops the gateway without draining, even if a request is incomplete', async () => {
  const gateway = await startGatewayProcess({ HEADGATE_DRAIN_MS: '600000' });
  const incomplete = await connectTo(gateway);
  incomplete.socket.write('GET /envoy/a HTTP/1.1\r\nHost');
  gateway.signal('SIGINT');
  await incomplete.closed;
  expect(await gateway.exited()).toBe(0);
});

test('a second signal ends the gateway at once with exit code 1', async () => {
  const gateway = await startGatewayProcess({ HEADGATE_DRAIN_MS: '600000' });
  gateway.signal('SIGTERM');
  await notReady(gateway);
  gateway.signal('SIGTERM');
  expect(await gateway.exited()).toBe(1);
  expect(gateway.output()).toMatch(/"event":"stopped_by_force","why":"a second signal, SIGTERM"/);
});

test('a gateway that stops answers its requests even if Redis hangs', async () => {
  await using redis = await startFakeRedis();
  await using gateway = await startGateway({
    HEADGATE_REDIS_URL: redis.url,
    // On a busy machine the stop comes late, but before that.
    HEADGATE_STORE_TIMEOUT_MS: '4000',
  });
  await call(gateway.url, '/envoy/api/search');
  let hangs = false;
  redis.misbehave(({ name }) => {
    hangs ||= name === 'take';
    return hangs;
  });
  const answer = call(gateway.url, '/envoy/api/search');
  await waitUntil('Redis has the request', async () => hangs);
  const stopped = gateway.stop();
  expect(await answer).toMatchObject({
    status: 200,
    headers: { 'x-ratelimit-mode': 'open', connection: 'close' },
  });
  await stopped;
});

/** The kernel ignores signals to the first process of a container unless the process handles them. */
test.skipIf(!canSeal)('the gateway stops if it is the first process of a container', async () => {
  const [command = '', ...args] = [...SEALED, NODE, MAIN];
  const env = {
    ...process.env,
    HEADGATE_PORT: '0',
    HEADGATE_OPS_PORT: '0',
    HEADGATE_GRPC_PORT: 'off',
    HEADGATE_DRAIN_MS: '0',
  };
  const container = startProcess(command, args, { env });
  await container.printed(/curl .*\n/);
  const children = await readFile(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8');
  process.kill(Number(children), 'SIGTERM');
  expect(await container.exited()).toBe(0);
});
