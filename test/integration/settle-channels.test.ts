/** Both channels on the ports of a gateway, used by the client libraries of others. */
import { createServer } from 'node:net';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createProxyServers } from '../../src/gateway/app/proxy-servers.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { EXEMPT } from '../../src/gateway/core/counting/decision.ts';
import { Arrivals } from '../../src/gateway/server/handler.ts';
import type { PortName } from '../../src/gateway/server/proxy-ports.ts';
import type { Settle, SettleVerdict } from '../../src/gateway/settlement/channel.ts';
import { accessLog, firstAccessLog, STREAM_ACCESS_LOGS } from '../support/access-logs.ts';
import { eventually } from '../support/eventually.ts';
import { listenLocally } from '../support/local-server.ts';
import { observedTelemetry } from '../support/telemetry.ts';

const SECRET = 'a-secret-of-sixteen';
const STYLE = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' } as const;

const started = new AsyncDisposableStack();
const settled: string[] = [];
const settle: Settle = async (token, { units }): Promise<SettleVerdict> => {
  settled.push(`${token} ${units?.get('tokens')}`);
  return 'settled';
};
let servers: ReturnType<typeof createProxyServers>;
let checkPort: number;
let grpcPort: number;
beforeAll(async () => {
  servers = createProxyServers({
    arrivals: new Arrivals(() => {}),
    environment: readEnvironment({
      ...{ HEADGATE_PORT: '0', HEADGATE_GRPC_PORT: '0', HEADGATE_PROXY_SECRET: SECRET },
    }),
    handleCheck: (pending) => pending.answer(EXEMPT, STYLE),
    telemetry: observedTelemetry().telemetry,
    rateLimits: undefined,
    settle,
  });
  await servers.ready();
  started.defer(() => servers.close(0));
  const portOf = async (name: PortName) => {
    const listener = createServer((connection) => servers.take(name, connection));
    return started.use(await listenLocally(listener)).port;
  };
  checkPort = await portOf('check');
  grpcPort = await portOf('grpc');
});
afterAll(() => started.disposeAsync());
beforeEach(() => {
  settled.length = 0;
});

function openStream(options = {}) {
  const client = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure(), options);
  started.defer(() => client.close());
  const metadata = new Metadata();
  metadata.set('x-headgate-secret', SECRET);
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  const call = client.makeClientStreamRequest(
    STREAM_ACCESS_LOGS,
    (message: Buffer) => message,
    (answer) => answer,
    metadata,
    (error: ServiceError | null, answer?: Buffer) => resolve(error?.code ?? answer?.length ?? -1),
  );
  return { call, ended };
}

test('access logs arrive while their stream is open', async () => {
  const { call, ended } = openStream();
  call.write(firstAccessLog({ token: 'a', units: { tokens: 1 } }));
  call.write(accessLog({ token: 'b' }, {}, { token: 'c', units: { tokens: 3 } }));
  const first = ['a 1', 'b undefined', 'c 3'];
  await eventually(
    async () => settled,
    (found) => found.length === 3,
  );
  expect(settled).toEqual(first);
  for (let i = 0; i < 1_000; i++) call.write(accessLog({ token: String(i) }));
  call.end();
  expect(await ended).toBe(0);
  expect(settled).toHaveLength(1_003);
});

test('reports arrive over connections that stay open, between checks', async () => {
  const url = `http://127.0.0.1:${checkPort}`;
  const headers = { 'x-headgate-secret': SECRET, 'content-type': 'application/json' };
  for (let i = 0; i < 5; i++) {
    expect((await fetch(`${url}/envoy/a`, { headers })).status).toBe(200);
    const body = JSON.stringify({ settlements: [{ token: 'a', units: { tokens: i } }] });
    const answer = await fetch(`${url}/settle`, { method: 'POST', headers, body });
    expect(await answer.json()).toEqual({ settlements: [{ result: 'settled' }] });
  }
  expect(settled).toEqual([0, 1, 2, 3, 4].map((i) => `a ${i}`));
});

test('a gateway that stops ends the streams of access logs, and every connection', async () => {
  const { call, ended } = openStream({ 'grpc.enable_retries': 0 });
  call.write(accessLog({ token: 'last' }));
  await eventually(
    async () => settled,
    (found) => found.length === 1,
  );
  const closed = servers.close(60_000);
  const UNAVAILABLE = 14;
  expect(await ended).toBe(UNAVAILABLE);
  await closed;
});
