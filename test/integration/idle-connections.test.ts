/** Many connections that are silent or slow, or never read. Other connections still get answers. */
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { startGatewayProcess } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest } from '../support/grpc-client.ts';
import { CHECK } from '../support/grpc-frames.ts';
import { call } from '../support/http.ts';
import { connectRawHttp2 } from '../support/http2-frames.ts';
import { startProcess } from '../support/process.ts';
import { exchange, statusOf } from '../support/raw-http.ts';
import { residentBytes } from '../support/resident-memory.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const OPEN_FILES = 400;
const CONNECTIONS = 500;
const MAX_OPS_CONNECTIONS = 256;

const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** Resolves once all connections are accepted. */
async function flood(port: number, count: number, text = ''): Promise<void> {
  for (let i = 0; i < count; i++) {
    const socket = connect(port, '127.0.0.1');
    opened.push(socket.on('error', () => {}));
    await once(socket, 'connect');
    socket.write(text);
  }
}

/** On a new connection. */
async function statusAt(url: string, path: string): Promise<number | undefined> {
  const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  return statusOf(await exchange(url, head, 5_000));
}

test('silent connections on all ports leave file descriptors for other connections', async () => {
  await using gateway = startProcess(
    'prlimit',
    [`--nofile=${OPEN_FILES}`, process.execPath, MAIN, 'serve'],
    {
      env: {
        ...process.env,
        REDIS_URL: undefined,
        HEADGATE_PORT: '0',
        HEADGATE_OPS_PORT: '0',
        HEADGATE_GRPC_PORT: '0',
        HEADGATE_DRAIN_MS: '0',
      },
    },
  );
  await gateway.printed(/curl .*\n/);
  const [url = '', opsUrl = '', grpcUrl = ''] =
    gateway.output().match(/http:\/\/[\d.]+:\d+/g) ?? [];
  const ports = [url, opsUrl, grpcUrl].map((each) => Number(new URL(each).port));
  const grpcPort = ports[2] as number;
  using session = await connectRawHttp2(grpcPort, CHECK);
  expect(await session.answersPing()).toBe(true);
  for (const port of ports) await flood(port, CONNECTIONS);
  expect(await statusAt(url, '/envoy/a')).toBe(200);
  expect(await statusAt(opsUrl, '/livez')).toBe(200);
  expect(await statusAt(opsUrl, '/readyz')).toBe(200);
  expect(await session.answersPing()).toBe(true);
  using client = connectGrpc(grpcPort);
  expect((await client.check(envoyCheckRequest())).code).toBe(0);
});

test('the ops port answers probes while other clients send or read slowly', async () => {
  await using gateway = await startGatewayProcess();
  const { port } = new URL(gateway.opsUrl);
  await call(gateway.opsUrl, '/metrics');
  const beforeBytes = residentBytes(gateway.pid);
  const request = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n';
  await flood(Number(port), MAX_OPS_CONNECTIONS, request.repeat(10));
  // The answers are not read, because the sockets have no listener for data.
  await flood(Number(port), MAX_OPS_CONNECTIONS, 'GET /livez HTTP/1.1\r\nHost');
  for (const path of ['/livez', '/readyz', '/metrics']) {
    expect([path, await statusAt(gateway.opsUrl, path)]).toEqual([path, 200]);
  }
  expect(await statusAt(gateway.url, '/envoy/a')).toBe(200);
  expect(residentBytes(gateway.pid) - beforeBytes).toBeLessThan(200 * 1024 * 1024);
});

test('the ops port keeps a connection that is in use, however many others are opened', async () => {
  await using gateway = await startGatewayProcess();
  const port = Number(new URL(gateway.opsUrl).port);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const used = new Set<unknown>();
  for (let i = 0; i < MAX_OPS_CONNECTIONS / 8; i++) {
    expect((await call(gateway.opsUrl, '/livez', { agent })).status).toBe(200);
    for (const connection of Object.values(agent.freeSockets).flat()) used.add(connection);
    await flood(port, 16, 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
  }
  expect(used.size).toBe(1);
  agent.destroy();
});
