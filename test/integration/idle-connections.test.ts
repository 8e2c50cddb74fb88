/** Many connections that are silent or slow, or never read. Other connections still get answers. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { startGatewayProcess } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest } from '../support/grpc-client.ts';
import { CHECK } from '../support/grpc-frames.ts';
import { call } from '../support/http.ts';
import {
  callHeaders,
  connectRawHttp2,
  frame,
  PREFACE,
  START,
  Type,
} from '../support/http2-frames.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
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
async function flood(port: number, count: number, text: string | Buffer = ''): Promise<void> {
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

function startWithOpenFiles(openFiles: number, env: NodeJS.ProcessEnv = {}): RunningProcess {
  return startProcess('prlimit', [`--nofile=${openFiles}`, process.execPath, MAIN, 'serve'], {
    env: {
      ...process.env,
      REDIS_URL: undefined,
      HEADGATE_PORT: '0',
      HEADGATE_OPS_PORT: '0',
      HEADGATE_GRPC_PORT: '0',
      HEADGATE_DRAIN_MS: '0',
      ...env,
    },
  });
}

/** Where it answers proxies over HTTP, operators, and Envoy over gRPC. */
async function urlsOf(gateway: RunningProcess): Promise<readonly [string, string, string]> {
  await gateway.printed(/curl .*\n/);
  const [url = '', opsUrl = '', grpcUrl = ''] =
    gateway.output().match(/https?:\/\/[\d.]+:\d+/g) ?? [];
  return [url, opsUrl, grpcUrl];
}

test('silent connections on all ports leave file descriptors for other connections', async () => {
  await using gateway = startWithOpenFiles(OPEN_FILES);
  const [url, opsUrl, grpcUrl] = await urlsOf(gateway);
  const ports = [url, opsUrl, grpcUrl].map((each) => Number(new URL(each).port));
  const grpcPort = ports[2] as number;
  using session = await connectRawHttp2(grpcPort, CHECK);
  session.openAndReset(1);
  expect(await session.answersPing()).toBe(true);
  for (const port of ports) await flood(port, CONNECTIONS);
  expect(await statusAt(url, '/envoy/a')).toBe(200);
  expect(await statusAt(opsUrl, '/livez')).toBe(200);
  expect(await statusAt(opsUrl, '/readyz')).toBe(200);
  expect(await session.answersPing()).toBe(true);
  using client = connectGrpc(grpcPort);
  expect((await client.check(envoyCheckRequest())).code).toBe(0);
});

/** More than a quarter of the open files. */
const FILLED_FILES = 1_024;
const FILLING = 300;

test('connections that sent a byte leave room for connections that make requests', async () => {
  await using gateway = startWithOpenFiles(FILLED_FILES);
  const [url, , grpcUrl] = await urlsOf(gateway);
  const grpcPort = Number(new URL(grpcUrl).port);
  using early = connectGrpc(grpcPort);
  expect((await early.check(envoyCheckRequest())).code).toBe(0);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect((await call(url, '/envoy/a', { agent })).status).toBe(200);
  const [kept] = Object.values(agent.freeSockets).flat();
  await flood(grpcPort, FILLING, 'P');
  await flood(Number(new URL(url).port), FILLING, 'G');
  using late = connectGrpc(grpcPort);
  expect((await late.check(envoyCheckRequest())).code).toBe(0);
  expect(await statusAt(url, '/envoy/a')).toBe(200);
  expect((await early.check(envoyCheckRequest())).code).toBe(0);
  expect((await call(url, '/envoy/a', { agent })).status).toBe(200);
  expect(Object.values(agent.freeSockets).flat()).toEqual([kept]);
  agent.destroy();
});

describe('over TLS', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'headgate-idle-'));
  const issuer = createAuthority(scratch);
  const { certificate, key } = issuer.issue('gateway');
  const env = { HEADGATE_GRPC_TLS_CERT: certificate, HEADGATE_GRPC_TLS_KEY: key };
  const ca = readFileSync(issuer.caFile);
  const override = { 'grpc.ssl_target_name_override': 'localhost' };
  afterAll(() => rmSync(scratch, { recursive: true }));

  test('connections that sent a byte leave room for connections that make requests', async () => {
    await using gateway = startWithOpenFiles(FILLED_FILES, env);
    const [, , grpcUrl] = await urlsOf(gateway);
    const port = Number(new URL(grpcUrl).port);
    await flood(port, FILLING, '\x16');
    using late = connectGrpc(port, override, credentials.createSsl(ca));
    expect((await late.check(envoyCheckRequest())).code).toBe(0);
  });

  test('a connection without a request is closed, one with a request stays open', async () => {
    await using gateway = await startGatewayProcess({ HEADGATE_GRPC_PORT: '0', ...env });
    const port = gateway.grpcPort;
    using used = connectGrpc(port, override, credentials.createSsl(ca));
    expect((await used.check(envoyCheckRequest())).code).toBe(0);
    const connectTo = () =>
      connectTls({ port, ca, ALPNProtocols: ['h2'], servername: 'localhost' });
    const established = connectTo().on('error', () => {});
    await once(established, 'secureConnect');
    const begun = connectTo().on('error', () => {});
    await once(begun, 'secureConnect');
    begun.write(START);
    await flood(port, 1, '\x16');
    await Promise.all([established, begun, ...opened].map(closed));
    expect((await used.check(envoyCheckRequest())).code).toBe(0);
  });
});

test('a gRPC connection that makes no request is closed, one with a request stays open', async () => {
  await using gateway = await startGatewayProcess({ HEADGATE_GRPC_PORT: '0' });
  using session = await connectRawHttp2(gateway.grpcPort, CHECK);
  session.openAndReset(1);
  const beginnings = [
    '',
    'P',
    PREFACE,
    START,
    Buffer.concat([START, frame(Type.ping, 0, 0, Buffer.alloc(8))]),
    Buffer.concat([START, callHeaders(1, { path: CHECK }).subarray(0, -1)]),
  ];
  for (const sent of beginnings) await flood(gateway.grpcPort, 3, sent);
  await Promise.all(opened.map(closed));
  expect(await session.answersPing()).toBe(true);
});

/** Resolves once the gateway has closed it. */
async function closed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await once(socket, 'close');
}

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
