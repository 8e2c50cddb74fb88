/** Requests that could keep a proxy with its file of deploy/ from checking them: none of them passes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { CADDIES, type RunningProxy, startCaddy } from '../support/proxies.ts';
import { isHere, type ProxyStart, proxyStart } from '../support/proxy-starts.ts';
import { answerTo, exchange, statusOf } from '../support/raw-http.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const programs = inject('programs');
const folder = mkdtempSync(join(tmpdir(), 'headgate-unchecked-'));
const policies = join(folder, 'policies.yaml');
let gateway: Gateway;
let upstream: Upstream;
let proxy: RunningProxy;

beforeAll(async () => {
  // The limit allows one request: every later one that passes was not checked.
  writeFileSync(policies, '{ version: 1, default: { limits: [1/1h] } }');
});
afterAll(() => rmSync(folder, { recursive: true }));

async function setUp({ start }: Pick<ProxyStart, 'start'>) {
  gateway = await startGateway({ HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' });
  upstream = await startUpstream();
  const { port: headgate, grpcPort: grpc } = gateway;
  proxy = await start({ application: upstream.port, headgate, grpc });
  expect((await call(proxy.url, '/')).status).toBe(200);
  expect((await call(proxy.url, '/')).status).toBe(429);
}

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

const VERSIONS_OF_CADDY = CADDIES.map(
  (program): ProxyStart => ({
    name: program,
    program,
    start: (behind) => startCaddy(behind, program),
  }),
);

describe.each(VERSIONS_OF_CADDY)('$name', (row) => {
  test.skipIf(!isHere(row, programs))(
    'refuses a request without a host, or with a method that it does not know',
    async () => {
      await setUp(row);
      const rest = 'Content-Length: 0\r\nConnection: close\r\n\r\n';
      for (const request of [
        `POST / HTTP/1.1\r\nHost: \r\n${rest}`,
        `${'A'.repeat(69)} / HTTP/1.1\r\nHost: a\r\n${rest}`,
        `${'A'.repeat(300)} / HTTP/1.1\r\nHost: a\r\n${rest}`,
      ]) {
        expect(statusOf(await answerTo(proxy.url, request))).toBeGreaterThanOrEqual(400);
      }
      expect(upstream.seen).toHaveLength(1);
    },
  );

  test.skipIf(!isHere(row, programs))(
    'waits for the refusal of a request with thousands of header lines',
    async () => {
      await setUp(row);
      const requests = [300, 3_000, 7_000].flatMap((lines) => Array(30).fill(lines));
      const send = async () => {
        for (let lines = requests.pop(); lines !== undefined; lines = requests.pop()) {
          const head = `GET / HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(lines)}Connection: close\r\n\r\n`;
          await exchange(proxy.url, head, 2_000);
        }
      };
      await Promise.all(Array.from({ length: 8 }, send));
      // Some may pass on a busy machine. If headgate broke off what Caddy still sends, up to half of them would.
      expect(upstream.seen.length).toBeLessThan(10);
    },
  );
});

describe.skipIf(programs.haproxy === undefined)('HAProxy', () => {
  test('opens no tunnel, and lets no client change the protocol', async () => {
    await setUp(proxyStart('haproxy'));
    const connect = 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n';
    expect(statusOf(await exchange(proxy.url, connect))).toBe(405);
    const preface = await exchange(proxy.url, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    expect(statusOf(preface) ?? 400).toBe(400);
    expect(upstream.seen).toHaveLength(1);
  });

  test('passes no other Upgrade to the application than that to a WebSocket', async () => {
    await setUp(proxyStart('haproxy'));
    await gateway.stop();
    for (const protocol of ['h2c', 'websocket']) {
      const headers = {
        Upgrade: protocol,
        Connection: 'Upgrade',
        // HAProxy requires it for a WebSocket.
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      };
      await call(proxy.url, '/', { headers });
    }
    const seen = upstream.seen.slice(1).map(({ headers }) => headers.upgrade);
    expect(seen).toEqual([undefined, 'websocket']);
  });
});

test.skipIf(programs.envoy === undefined)(
  'Envoy checks a path over gRPC that becomes three times as long',
  async () => {
    await setUp(proxyStart('envoy-grpc'));
    for (const characters of [30_000, 50_000, 58_000]) {
      const request = `GET /${'"'.repeat(characters)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      expect(statusOf(await answerTo(proxy.url, request))).toBeGreaterThanOrEqual(400);
    }
    expect(upstream.seen).toHaveLength(1);
  },
);

test.skipIf(programs.nginx === undefined)(
  'NGINX refuses a request that headgate cannot read',
  async () => {
    await setUp(proxyStart('nginx'));
    const request = 'GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: a\x01b\r\nConnection: close\r\n\r\n';
    expect(statusOf(await answerTo(proxy.url, request))).toBe(403);
    expect(upstream.seen).toHaveLength(1);
  },
);
