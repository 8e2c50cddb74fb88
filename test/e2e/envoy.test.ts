/** What only Envoy does, with the files of deploy/envoy: the newest version and the oldest, over HTTP and gRPC. */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, type sendUnaryData, status } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { ENVOY_PROTOS } from '../support/grpc-client.ts';
import { call, type HttpCall, statuses } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import { freePort } from '../support/ports.ts';
import { isNeeded } from '../support/programs.ts';
import { ENVOYS, type RunningProxy, startEnvoy, startEnvoyGrpc } from '../support/proxies.ts';
import { answerTo } from '../support/raw-http.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { type CountingRelay, startCountingRelay } from './support/counting-relay.ts';

const LOGIN = '/api/auth/login';
const MEGABYTE = 1024 * 1024;
const FIVE = [200, 200, 200, 200, 200];
const programs = inject('programs');

/** The commented-out lines of a file, from this line on, and what they are without `#`. */
function uncommented(file: string, line: string): Record<string, string> {
  const text = readFileSync(new URL(`../../deploy/envoy/${file}`, import.meta.url), 'utf8');
  const block: string[] = [];
  for (const each of text.slice(text.indexOf(line)).split('\n')) {
    if (block.length > 0 && !/^ +# {2}/.test(each)) break;
    block.push(each);
  }
  return { [block.join('\n')]: block.map((each) => each.replace('#', '')).join('\n') };
}

/** A route before all others. */
function withRoute(route: string): Record<string, string> {
  const last = '- match: { prefix: / }\n';
  return { [last]: `${route}\n                        ${last}` };
}

const REDIRECTS = `- match: { path: /redirects }
                          route: { cluster: application, internal_redirect_policy: { max_internal_redirects: 1 } }`;

let clients = 0;

/** A client without any counted request: another address of this machine. */
function newClient() {
  const agent = new Agent({ localAddress: `127.0.1.${++clients}` });
  return (url: string, path: string, options: HttpCall = {}) =>
    call(url, path, { agent, ...options });
}

type Client = ReturnType<typeof newClient>;

const login =
  (proxy: RunningProxy, client: Client, options: HttpCall = {}) =>
  () =>
    client(proxy.url, LOGIN, { method: 'POST', ...options });

/** Names and values of all headers about limits, sorted. */
function limitHeaders(rawHeaders: readonly string[]): string[] {
  return rawHeaders
    .flatMap((name, i) =>
      i % 2 === 0 && /ratelimit/i.test(name) ? [`${name.toLowerCase()}: ${rawHeaders[i + 1]}`] : [],
    )
    .sort();
}

const checks = (gateway: Gateway) => metric(gateway, 'headgate_decision_duration_seconds_count');
const repeatedChecks = (gateway: Gateway) => metric(gateway, 'headgate_repeated_checks_total');

const MODES = [
  { mode: 'gRPC', file: 'envoy-grpc.yaml', start: startEnvoyGrpc, program: 'envoy' },
  { mode: 'gRPC', file: 'envoy-grpc.yaml', start: startEnvoyGrpc, program: 'envoy-oldest' },
  { mode: 'HTTP', file: 'envoy.yaml', start: startEnvoy, program: 'envoy' },
] as const;

describe.each(MODES.filter(({ program }) => isNeeded(program)))(
  '$program in $mode mode',
  ({ mode, file, start, program }) => {
    const testWith = test.skipIf(!(program in programs));
    const stack = new AsyncDisposableStack();
    let gateway: Gateway;
    /** Between the proxy and the gateway. */
    let relay: CountingRelay;
    let upstream: Upstream;
    let proxy: RunningProxy;

    beforeAll(async () => {
      if (!(program in programs)) return;
      gateway = stack.use(await startGateway({ HEADGATE_GRPC_PORT: '0' }));
      upstream = stack.use(await startUpstream());
      relay = stack.use(
        await startCountingRelay(mode === 'gRPC' ? gateway.grpcPort : gateway.port),
      );
      const { port } = relay;
      const changes = {
        ...uncommented(file, '#- match: { path: /healthz }'),
        ...(mode === 'gRPC' && uncommented(file, '#- match: { path: /session }')),
      };
      proxy = stack.use(
        await start({ application: upstream.port, headgate: port, grpc: port, changes }, program),
      );
    });
    afterAll(() => stack.disposeAsync());

    testWith(
      'allows five logins with the headers of headgate, and denies the sixth with all headers',
      async () => {
        const once = login(proxy, newClient());
        expect(limitHeaders((await once()).rawHeaders)).toEqual([
          'ratelimit-policy: "login";q=5;w=300, "login:ip:5min";q=50;w=300',
          'ratelimit: "login";r=4;t=300',
          'x-ratelimit-limit: 5',
          'x-ratelimit-remaining: 4',
          expect.stringMatching(/^x-ratelimit-reset: \d{10}$/),
        ]);
        expect(await statuses(4, once)).toEqual([200, 200, 200, 200]);
        const denied = await once();
        expect(denied.status).toBe(429);
        expect(denied.headers).toMatchObject({
          'content-type': 'application/json',
          'cache-control': 'no-store',
          'retry-after': expect.stringMatching(/^(300|29\d)$/),
          'x-ratelimit-remaining': '0',
          'x-ratelimit-policy': 'login',
        });
        expect(JSON.parse(denied.body)).toMatchObject({
          error: 'rate_limit_exceeded',
          policy: 'login',
        });
      },
    );

    testWith('does not check an exempt route', async () => {
      const before = await checks(gateway);
      const { status, headers } = await newClient()(proxy.url, '/healthz');
      // The application's own headers are removed all the same.
      expect({ status, limit: headers['x-ratelimit-limit'] }).toEqual({ status: 200 });
      expect(await checks(gateway)).toBe(before);
    });

    // Over HTTP a route cannot name its policy.
    if (mode === 'gRPC') {
      testWith('applies the policy that a route names', async () => {
        const client = newClient();
        const codes = await statuses(6, () => client(proxy.url, '/session'));
        expect(codes).toEqual([...FIVE, 429]);
        expect((await client(proxy.url, '/sessions')).headers['x-ratelimit-limit']).toBe('1000');
      });
    }

    testWith.each([
      ['another address', newClient],
      // By default, private addresses and this one are internal for Envoy.
      ['127.0.0.1', () => call],
    ])('lets no client at %s choose the request id', async (_, clientOf) => {
      const before = await repeatedChecks(gateway);
      const headers = { 'X-Request-ID': 'one', 'X-Headgate-Request-ID': 'one' };
      expect(await statuses(6, login(proxy, clientOf(), { headers }))).toEqual([...FIVE, 429]);
      expect(await repeatedChecks(gateway)).toBe(before);
      expect(upstream.seen.at(-1)?.headers['x-request-id']).not.toBe('one');
    });

    testWith('passes twenty megabytes or denies them, and sends none to the gateway', async () => {
      const body = Buffer.alloc(20 * MEGABYTE);
      const client = newClient();
      const upload = login(proxy, client, { body });
      const before = relay.bytes;
      expect((await upload()).status).toBe(200);
      expect(upstream.seen.at(-1)?.bytes).toBe(body.length);
      expect(await statuses(4, login(proxy, client))).toEqual([200, 200, 200, 200]);
      const seen = upstream.seen.length;
      expect((await upload()).status).toBe(429);
      expect(upstream.seen).toHaveLength(seen);
      expect(relay.bytes).toBeGreaterThan(before);
      expect(relay.bytes - before).toBeLessThan(MEGABYTE);
    });

    testWith('answers CONNECT and OPTIONS * with 2xx or 4xx, and goes on', async () => {
      for (const line of ['CONNECT a.example:443', 'OPTIONS *', 'OPTIONS http://a.example']) {
        const request = `${line} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`;
        expect(await answerTo(proxy.url, request)).toMatch(/^HTTP\/1\.1 [24]\d\d /);
      }
      expect((await login(proxy, newClient())()).status).toBe(200);
      expect(gateway.output()).not.toContain('check_failed');
    });

    // The last test, because it stops the gateway.
    testWith('passes and marks requests while the gateway is down', async () => {
      await gateway.stop();
      const upload = () => call(proxy.url, '/api/upload', { method: 'POST' });
      expect(await statuses(7, upload)).toEqual([...FIVE, 200, 200]);
      expect(upstream.seen.at(-1)?.headers['x-envoy-auth-failure-mode-allowed']).toBe('true');
    });
  },
);

describe.skipIf(!('envoy' in programs)).each(MODES.filter(({ program }) => program === 'envoy'))(
  'Envoy in $mode mode, in front of an application',
  ({ start }) => {
    const stack = new AsyncDisposableStack();
    let gateway: Gateway;
    let proxy: RunningProxy;
    let requests = 0;

    beforeAll(async () => {
      gateway = stack.use(await startGateway({ HEADGATE_GRPC_PORT: '0' }));
      const application = createServer((request, response) => {
        requests++;
        const isFirst = request.url === '/redirects';
        response.writeHead(isFirst ? 302 : 200, { Location: `http://${request.headers.host}/a` });
        response.end();
      });
      application.on('upgrade', (request, socket) => {
        const protocol = `Connection: Upgrade\r\nUpgrade: ${request.headers.upgrade}`;
        socket.end(`HTTP/1.1 101 Switching Protocols\r\n${protocol}\r\n\r\nthe application`);
      });
      await once(application.listen(0, '127.0.0.1'), 'listening');
      stack.defer(() => {
        application.closeAllConnections();
        application.close();
      });
      const { port } = application.address() as AddressInfo;
      const changes = {
        ...withRoute(REDIRECTS),
        'stat_prefix: ingress':
          'stat_prefix: ingress\n                upgrade_configs: [{ upgrade_type: websocket }]',
      };
      const { port: headgate, grpcPort: grpc } = gateway;
      proxy = stack.use(await start({ application: port, headgate, grpc, changes }));
    });
    afterAll(() => stack.disposeAsync());

    test('that redirects within Envoy, counts a request once', async () => {
      const client = newClient();
      const before = { requests, again: await repeatedChecks(gateway) };
      const remaining: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        const { status, headers } = await client(proxy.url, '/redirects');
        remaining.push([status, headers['x-ratelimit-remaining']]);
      }
      expect(remaining).toEqual([
        [200, '999'],
        [200, '998'],
        [200, '997'],
      ]);
      expect(requests - before.requests).toBe(6);
      expect((await repeatedChecks(gateway)) - before.again).toBe(3);
    });

    test('that serves WebSockets, counts and denies a handshake as a GET', async () => {
      const upgrade = async (path: string) => {
        const socket = connect({
          port: Number(new URL(proxy.url).port),
          host: '127.0.0.1',
          localAddress: `127.0.2.${path.length}`,
        }).setEncoding('latin1');
        const fields = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n\r\n`);
        const [answer] = (await once(socket, 'data')) as [string];
        socket.destroy();
        return answer;
      };
      expect(await upgrade('/api/search')).toMatch(
        /^HTTP\/1\.1 101 [\s\S]*x-ratelimit-limit: 100\r\n/i,
      );
      for (let i = 0; i < 99; i++) await upgrade('/api/search');
      expect(await upgrade('/api/search')).toMatch(/^HTTP\/1\.1 429 /);
    });
  },
);

describe.skipIf(!('envoy' in programs))('Envoy in gRPC mode', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-envoy-e2e-'));
  const policies = join(folder, 'policies.yaml');
  // As Node sends and reads them: a character for each byte.
  const keys = ['\xff\xfea', '\xff\xfeb'];
  const digest = (key: string) => hash('sha256', Buffer.from(key, 'latin1'), 'hex');
  const listed = keys.map((key, i) => `{ id: odd-${i}, sha256: ${digest(key)} }`);
  const stack = new AsyncDisposableStack();
  let gateway: Gateway;
  let upstream: Upstream;
  const behind = (changes: Readonly<Record<string, string>>) => ({
    application: upstream.port,
    headgate: gateway.port,
    grpc: gateway.grpcPort,
    changes,
  });

  beforeAll(async () => {
    writeFileSync(
      policies,
      `{ version: 1, identity: { sources: [api_key, ip], api_key: { keys: [${listed}] } }, default: { limits: [2/1h] } }`,
    );
    const env = { HEADGATE_GRPC_PORT: '0', HEADGATE_POLICIES: policies };
    gateway = stack.use(await startGateway(env));
    upstream = stack.use(await startUpstream());
  });
  afterAll(async () => {
    await stack.disposeAsync();
    rmSync(folder, { recursive: true });
  });

  test.each(ENVOYS)(
    "%s replaces the application's headers even if the file does not remove them",
    async (program) => {
      if (!(program in programs)) return;
      const removed = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
      const names = [...removed, 'ratelimit\n', 'ratelimit-policy'].map((name) => `- ${name}`);
      const changes = Object.fromEntries(names.map((name) => [name, '- x-other\n']));
      await using proxy = await startEnvoyGrpc(behind(changes), program);
      const { rawHeaders } = await newClient()(proxy.url, '/a');
      expect(limitHeaders(rawHeaders)).toEqual([
        'ratelimit-policy: "default";q=2;w=3600',
        'ratelimit: "default";r=1;t=3600',
        'x-ratelimit-limit: 2',
        'x-ratelimit-remaining: 1',
        expect.stringMatching(/^x-ratelimit-reset: \d{10}$/),
      ]);
    },
  );

  test("passes none of the application's headers if nothing was counted", async () => {
    const redis = `redis://127.0.0.1:${await freePort()}`;
    await using alone = await startGateway({
      HEADGATE_GRPC_PORT: '0',
      HEADGATE_REDIS_URL: redis,
    });
    await using proxy = await startEnvoyGrpc({ ...behind({}), grpc: alone.grpcPort });
    const { status, rawHeaders } = await newClient()(proxy.url, '/api/search');
    expect([status, limitHeaders(rawHeaders)]).toEqual([200, ['x-ratelimit-mode: open']]);
  });

  test('passes header bytes that are not UTF-8, with encode_raw_headers', async () => {
    const version = 'transport_api_version: V3\n';
    const raw = `${version}                      encode_raw_headers: true\n`;
    // headgate gets the bytes of the client then, so Envoy need not refuse them.
    const unfiltered = { 'name: x-api-key, string_match': 'name: x-unused, string_match' };
    await using proxy = await startEnvoyGrpc(behind({ [version]: raw, ...unfiltered }));
    const client = newClient();
    for (const key of keys) {
      const send = () => client(proxy.url, '/a', { headers: { 'X-Api-Key': key } });
      expect(await statuses(3, send)).toEqual([200, 200, 429]);
    }
    const both = { 'X-Api-Key': ['made-up', keys[0] ?? ''] };
    expect((await client(proxy.url, '/a', { headers: both })).status).toBe(400);
  });

  describe('follows its file if the check fails', () => {
    let code = status.INTERNAL;
    let closed: RunningProxy;
    let open: RunningProxy;

    beforeAll(async () => {
      const faulty = new Server();
      const service = ENVOY_PROTOS['envoy.service.auth.v3.Authorization'] as ServiceDefinition;
      faulty.addService(service, {
        Check: (_call: unknown, callback: sendUnaryData<object>) => callback({ code }),
      });
      const grpc = await new Promise<number>((resolve, reject) => {
        const credentials = ServerCredentials.createInsecure();
        faulty.bindAsync('127.0.0.1:0', credentials, (error, port) => {
          if (error) reject(error);
          else resolve(port);
        });
      });
      stack.defer(() => faulty.forceShutdown());
      const changes = { 'failure_mode_allow: true': 'failure_mode_allow: false' };
      open = stack.use(await startEnvoyGrpc({ ...behind({}), grpc }));
      closed = stack.use(await startEnvoyGrpc({ ...behind(changes), grpc }));
    });

    test.each([
      status.INTERNAL,
      status.INVALID_ARGUMENT,
      status.RESOURCE_EXHAUSTED,
      status.UNIMPLEMENTED,
      status.UNAVAILABLE,
      status.PERMISSION_DENIED,
    ])('with gRPC status %i', async (each) => {
      code = each;
      const seen = upstream.seen.length;
      expect((await call(closed.url, '/a')).status).toBe(503);
      expect(upstream.seen).toHaveLength(seen);
      expect((await call(open.url, '/a')).status).toBe(200);
      expect(upstream.seen.at(-1)?.headers['x-envoy-auth-failure-mode-allowed']).toBe('true');
    });
  });
});
