/**
 * No client can change the protocol so that its next requests are not checked. The application accepts h2c and
 * WebSocket. Behind every proxy, only WebSocket reaches it.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { frame, literal, PREFACE, Type } from '../support/http2-frames.ts';
import { freePort } from '../support/ports.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { isHere, PROXY_ROWS, type ProxyRow } from '../support/proxy-starts.ts';
import { exchange } from '../support/raw-http.ts';
import { temporaryFile } from '../support/temporary.ts';
import { realTraefik } from '../support/traefik.ts';
import {
  type PythonApplication,
  type ServedRequest,
  startPythonApplication,
} from './support/python-applications.ts';

const SETTINGS = 'HTTP2-Settings: AAMAAABkAAQAAP__';
const TOKENS = 'Connection: Upgrade, HTTP2-Settings';
const HANDSHAKE = ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13'];

/** What a client may send to get another protocol than WebSocket. None of it is a WebSocket handshake. */
const ATTEMPTS: Readonly<Record<string, readonly string[]>> = {
  'as RFC 7540 has it': ['Upgrade: h2c', TOKENS, SETTINGS],
  'in upper case': ['UPGRADE: H2C', 'CONNECTION: UPGRADE, HTTP2-SETTINGS', SETTINGS],
  'without settings': ['Upgrade: h2c', 'Connection: Upgrade'],
  'without Connection': ['Upgrade: h2c', SETTINGS],
  'with tokens in lower case': ['Upgrade: h2c', 'Connection: keep-alive, upgrade', SETTINGS],
  'with tokens on two lines': [
    'Upgrade: h2c',
    'Connection: Upgrade',
    'Connection: HTTP2-Settings',
    SETTINGS,
  ],
  'with close': ['Upgrade: h2c', 'Connection: close, Upgrade', SETTINGS],
  'that Connection does not name': ['Upgrade: h2c', 'Connection: keep-alive', SETTINGS],
  'between tabs': ['Upgrade:\th2c\t', 'Connection:\tUpgrade,\tHTTP2-Settings', SETTINGS],
  'after a WebSocket on another line': ['Upgrade: websocket', 'Upgrade: h2c', TOKENS, SETTINGS],
  'before a WebSocket on another line': ['Upgrade: h2c', 'Upgrade: websocket', TOKENS, SETTINGS],
  'after a whole WebSocket handshake': [
    ...['Upgrade: websocket', ...HANDSHAKE, 'Upgrade: h2c'],
    ...[TOKENS, SETTINGS],
  ],
  'before a whole WebSocket handshake': [
    ...['Upgrade: h2c', 'Upgrade: websocket', ...HANDSHAKE],
    ...[TOKENS, SETTINGS],
  ],
  'after an empty line': ['Upgrade:', 'Upgrade: h2c', TOKENS, SETTINGS],
  'first in a list': ['Upgrade: h2c, websocket', ...HANDSHAKE, TOKENS, SETTINGS],
  'last in a list': ['Upgrade: websocket, h2c', ...HANDSHAKE, TOKENS, SETTINGS],
  'last in a list without blanks': ['Upgrade: websocket,h2c', ...HANDSHAKE, TOKENS, SETTINGS],
  'in a list with empty members': ['Upgrade: , h2c,', TOKENS, SETTINGS],
  'on a folded line': ['Upgrade: websocket,\r\n h2c', ...HANDSHAKE, TOKENS, SETTINGS],
  'with a blank before the colon': ['Upgrade : h2c', TOKENS, SETTINGS],
  'with a version': ['Upgrade: h2c/2', TOKENS, SETTINGS],
  'to a WebSocket with a version': ['Upgrade: websocket/13, h2c', ...HANDSHAKE, TOKENS, SETTINGS],
  'to TLS and h2c': ['Upgrade: TLS/1.2, h2c', TOKENS, SETTINGS],
  'to TLS': ['Upgrade: TLS/1.2', 'Connection: Upgrade'],
  'to h2': ['Upgrade: h2', TOKENS, SETTINGS],
  'under another name': ['Up_grade: h2c', 'X-Upgrade: h2c', TOKENS, SETTINGS],
};

/** The status of a request to upgrade to h2c, for proxies that do not pass it on as a plain request. */
const REFUSALS: Readonly<Record<string, number>> = { 'ingress-nginx': 400, Traefik: 400 };

const programs = inject('programs');
const traefik = await realTraefik();
const rows: ProxyRow[] = [
  ...PROXY_ROWS.filter(({ proxy }) => !['Traefik', 'NGINX behind Cloudflare'].includes(proxy)),
  ...(traefik === undefined
    ? []
    : [{ proxy: 'Traefik', program: undefined, tested: 'its files', start: traefik }]),
];

const POLICIES = `
version: 1
default: { limits: [100000/1h] }
policies: [{ name: tunnel, match: { path: /tunnel }, limits: [1/1h] }]`;

const stack = new AsyncDisposableStack();
const proxies = new Map<ProxyRow, RunningProxy>();
let gateway: Gateway;
let application: PythonApplication;

beforeAll(async () => {
  const policies = temporaryFile(stack, POLICIES);
  const [headgate, grpc] = [await freePort(), await freePort()];
  gateway = stack.use(
    await startGateway({
      HEADGATE_POLICIES: policies,
      HEADGATE_PORT: String(headgate),
      HEADGATE_GRPC_PORT: String(grpc),
    }),
  );
  application = stack.use(await startPythonApplication('hypercorn'));
  for (const row of rows.filter((each) => isHere(each, programs))) {
    const proxy = await row.start({ application: application.port, headgate, grpc });
    proxies.set(row, stack.use(proxy));
  }
});
afterAll(() => stack.disposeAsync());

function testProxies(title: string, check: (proxy: RunningProxy, row: ProxyRow) => Promise<void>) {
  for (const row of rows) {
    const name = [row.proxy, row.program].filter((part) => part !== undefined).join(', ');
    test.skipIf(!isHere(row, programs))(`${name}: ${title}`, { concurrent: true }, async () => {
      const proxy = proxies.get(row);
      if (proxy === undefined) throw new Error(`${name} has not started`);
      await check(proxy, row);
    });
  }
}

/** Makes the attempt, then sends three requests over HTTP/2 on that connection. Resolves to the first status. */
async function tunnel({ url }: RunningProxy, path: string, lines: readonly string[]) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    // The tunnel might be open now.
    if (answer === '') socket.write(http2Requests('/tunnel', [3, 5, 7]));
    answer += chunk;
  });
  socket.setTimeout(1_000, () => socket.destroy());
  // A reset by the proxy is an answer too.
  socket.on('error', () => {});
  socket.write(`GET ${path}\r\n${['Host: a', ...lines].join('\r\n')}\r\n\r\n`);
  await new Promise((resolve) => socket.on('close', resolve));
  return Number(/^HTTP\/1\.\d (\d{3})/.exec(answer)?.[1] ?? 0);
}

let attemptsMade = 0;

/** Makes every attempt on a new connection. Resolves to those that became more than one plain request. */
async function tryAll(proxy: RunningProxy) {
  const outcomes = await Promise.all(
    Object.entries(ATTEMPTS).map(async ([name, lines]) => {
      const path = `/attempts/${attemptsMade++}`;
      return { name, path, answer: await tunnel(proxy, `${path} HTTP/1.1`, lines) };
    }),
  );
  const served = application.served();
  return outcomes.flatMap(({ name, path, answer }) => {
    const own = served.filter((request) => request.path === path);
    const isHarmless = own.length <= 1 && own.every(isOneRequest);
    const isSwitched = answer === 101 && own[0]?.method !== 'WEBSOCKET';
    return isHarmless && !isSwitched ? [] : [{ name, answer, own }];
  });
}

/** Not over HTTP/2, and with at most one Upgrade, to WebSocket. */
function isOneRequest({ version, headers }: ServedRequest): boolean {
  const upgrades = headers.filter(([name]) => ['upgrade', 'http2-settings'].includes(name));
  const isWebSocket = upgrades.every(([, value]) => /^websocket$/i.test(value));
  return version !== '2' && upgrades.length <= 1 && isWebSocket;
}

/** The program may not be here. */
test("Traefik's files overwrite every Upgrade", () => {
  const shipped = (name: string) =>
    readFileSync(new URL(`../../deploy/traefik/${name}`, import.meta.url), 'utf8');
  const { http } = parse(shipped('dynamic.yaml'));
  const resources = parseAllDocuments(shipped('kubernetes.yaml')).map((each) => each.toJS());
  const resource = resources.find(({ metadata }) => metadata.name === 'headgate-application');
  for (const { headers } of [http.middlewares['headgate-application'], resource.spec]) {
    const { Upgrade, 'HTTP2-Settings': settings } = headers.customRequestHeaders;
    expect({ Upgrade, settings }).toEqual({ Upgrade: 'websocket', settings: '' });
  }
});

describe('while the gateway answers', () => {
  beforeAll(async () => {
    const { url } = [...proxies.values()][0] ?? {};
    if (url !== undefined) await call(url, '/tunnel');
  });

  testProxies('opens no tunnel', async (proxy, row) => {
    // All proxies have the same client, which has used up the limit of /tunnel.
    expect((await call(proxy.url, '/tunnel')).status).toBe(429);
    expect(await tryAll(proxy)).toEqual([]);
    const h2c = ['Upgrade: h2c', TOKENS, SETTINGS];
    expect(await tunnel(proxy, '/plain HTTP/1.1', h2c)).toBe(REFUSALS[row.proxy] ?? 200);
    await tunnel(proxy, '/old HTTP/1.0', h2c);
    await exchange(proxy.url, http2Requests('/tunnel', [1, 3, 5]), 1_000);
  });

  testProxies('passes a WebSocket, which is one request', async (proxy) => {
    const path = `/socket/${attemptsMade++}`;
    const socket = new WebSocket(proxy.url.replace('http:', 'ws:') + path);
    // It closes where it is refused.
    const [opened] = await Promise.race([once(socket, 'open'), once(socket, 'close')]);
    expect(opened).toMatchObject({ type: 'open' });
    const echoed = once(socket, 'message');
    socket.send('hello');
    const [{ data }] = (await echoed) as [MessageEvent];
    expect(data).toBe('hello');
    socket.close();
    const served = application.served().filter((request) => request.path === path);
    expect(served).toMatchObject([{ method: 'WEBSOCKET' }]);
  });
});

describe('while the gateway is down', () => {
  beforeAll(async () => void (await gateway.stop()));

  testProxies('opens no tunnel', async (proxy) => {
    expect(await tryAll(proxy)).toEqual([]);
  });
});

test('the application has served nothing from a tunnel', () => {
  // The first request used up the limit.
  const here = proxies.size > 0 ? 1 : 0;
  const served = application.served();
  expect(served.filter(({ path }) => path === '/tunnel')).toHaveLength(here);
  expect(served.map(({ version }) => version)).not.toContain('2');
});

const END_STREAM_AND_HEADERS = 0x05;

/** The preface, and a GET of the path on each of the streams. */
function http2Requests(path: string, streams: readonly number[]): Buffer {
  const block = Buffer.concat([
    literal(':method', 'GET'),
    literal(':scheme', 'http'),
    literal(':authority', 'a'),
    literal(':path', path),
  ]);
  return Buffer.concat([
    Buffer.from(PREFACE),
    frame(Type.settings, 0, 0),
    ...streams.map((stream) => frame(Type.headers, END_STREAM_AND_HEADERS, stream, block)),
  ]);
}
