/** What only HAProxy and its Lua action do. proxies.test.ts has what all proxies do. */

import { hash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProxy, startHaproxy } from '../support/proxies.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { temporaryFile } from '../support/temporary.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const describeWith = describe.skipIf(inject('programs').haproxy === undefined);

const MARK = 'x-ratelimit-bypass';
const TO_REFUSE = {
  'set-var(txn.headgate_bypass) str(gateway-unavailable)': 'deny deny_status 503',
};
/** `timeout server` of the file. */
const TIMEOUT_MS = 150;
const EARLY_MS = 5;
/** Half of what a patient HAProxy waits for a connection. */
const AT_ONCE_MS = 5_000;

interface Listener extends AsyncDisposable {
  readonly port: number;
  /** Of the checks, in order. */
  readonly heads: string[];
  readonly connections: number;
}

/** Receives the checks of HAProxy, and calls `onRequest` for each. */
async function listen(onRequest: (socket: Socket, head: string) => void): Promise<Listener> {
  const heads: string[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    connections++;
    open.add(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = text.slice(0, end + 4);
      text = text.slice(end + 4);
      heads.push(head);
      onRequest(socket, head);
    });
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    heads,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** In front of a real gateway: for each connection of HAProxy it opens one to the gateway. */
function listenBefore(gatewayPort: number): Promise<Listener> {
  const behind = new WeakMap<Socket, Socket>();
  return listen((socket, head) => {
    let gateway = behind.get(socket);
    if (gateway === undefined) {
      gateway = connect(gatewayPort, '127.0.0.1');
      gateway.on('error', () => socket.destroy()).pipe(socket);
      socket.on('close', () => gateway?.destroy());
      behind.set(socket, gateway);
    }
    gateway.write(head, 'latin1');
  });
}

/** The values of a header of a check. */
function valuesOf(head: string | undefined, name: string): string[] {
  return (head ?? '').split('\r\n').flatMap((line) => {
    const [found = '', value] = line.split(/: ?(.*)/s);
    return found.toLowerCase() === name ? [value ?? ''] : [];
  });
}

describeWith('the gateway answers', () => {
  const stack = new AsyncDisposableStack();
  const KEY = 'a-key-of-this-test';
  let upstream: Upstream;
  let relay: Listener;
  let proxy: RunningProxy;
  let gateway: Gateway;
  const lastCall = () => relay.heads.at(-1);

  beforeAll(async () => {
    const policyFile = temporaryFile(
      stack,
      `version: 1
identity: { api_key: { keys: [{ id: exempt, sha256: ${hash('sha256', KEY, 'hex')} }] } }
exempt: [{ key: exempt }]
default: { limits: [1000000/1h] }
policies:
  - { name: spent, match: { path: /spent }, limits: [1/1h] }`,
    );
    gateway = stack.use(await startGateway({ HEADGATE_POLICIES: policyFile }));
    upstream = stack.use(await startUpstream());
    relay = stack.use(await listenBefore(gateway.port));
    proxy = stack.use(await startHaproxy({ application: upstream.port, headgate: relay.port }));
    expect((await call(proxy.url, '/spent')).status).toBe(200);
  });
  afterAll(() => stack.disposeAsync());

  test('a denial has the body and headers of headgate, and no headers of its connection', async () => {
    const { status, headers, body } = await call(proxy.url, '/spent');
    expect(status).toBe(429);
    expect(JSON.parse(body)).toMatchObject({ error: 'rate_limit_exceeded', policy: 'spent' });
    expect(Object.keys(headers).sort()).toEqual([
      'cache-control',
      'content-length',
      'content-type',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'x-ratelimit-decision-id',
      'x-ratelimit-limit',
      'x-ratelimit-policy',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
    ]);
  });

  test('limits the path as it is where the part stands', async () => {
    const rewrite = 'http-request set-path %[path,regsub(^/old/,/)] if { path_beg /old/ }';
    const first = '  # headgate: part for the frontend, before its default_backend';
    const last = '  default_backend application';
    for (const [place, status] of [
      [first, 429],
      [last, 200],
    ] as const) {
      const changes = { [place]: `  ${rewrite}\n${place}` };
      const ports = { application: upstream.port, headgate: gateway.port };
      await using moving = await startHaproxy({ ...ports, changes });
      expect((await call(moving.url, '/old/spent')).status).toBe(status);
    }
  });

  test('a denial of HEAD has headers and no body', async () => {
    const { status, headers, body } = await call(proxy.url, '/spent', { method: 'HEAD' });
    expect({ status, body }).toEqual({ status: 429, body: '' });
    expect(headers['x-ratelimit-limit']).toBe('1');
  });

  test("headgate's headers replace those of the application", async () => {
    const { headersDistinct } = await distinct(proxy.url, '/a');
    expect(headersDistinct['x-ratelimit-limit']).toEqual(['1000000']);
    expect(headersDistinct['ratelimit-policy']).toEqual(['"default";q=1000000;w=3600']);
    expect(headersDistinct[MARK]).toBeUndefined();
  });

  test("removes the application's headers if headgate sends none", async () => {
    const { status, headers } = await call(proxy.url, '/a', { headers: { 'X-Api-Key': KEY } });
    expect(status).toBe(200);
    expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  test('sends both values of a header that the client sent twice', async () => {
    const headers = { 'X-Api-Key': [KEY, 'another'] };
    const answer = await call(proxy.url, '/a', { headers });
    expect(valuesOf(lastCall(), 'x-api-key')).toEqual([`${KEY}, another`]);
    expect(answer.status).toBe(400);
  });

  test.for([
    '//a//b/../c;x=1/%2e%2e/%2F?q=//%00&a=b',
    '/%zz%ff/./a?',
    '/a\\b|c^d`{e}"<>',
    '//other.example/a?x=1',
    '/a,b,%20c?d=e,f',
    'http://a//b/../c?d',
  ])('passes %s unchanged to headgate and the application', async (target) => {
    const bytes = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    await answerTo(proxy.url, Buffer.from(bytes, 'latin1'));
    expect(valuesOf(lastCall(), 'x-original-uri')).toEqual([target]);
    // headgate refuses this one.
    if (upstream.seen.at(-1)?.url !== target) expect(target).toContain('%zz');
  });

  test('sends a target without a host unchanged to headgate and the application, or refuses it', async () => {
    const target = 'http:///a/b';
    const bytes = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    const status = statusOf(await answerTo(proxy.url, bytes));
    const reached = upstream.seen.some(({ url }) => url === target);
    // Newer versions refuse it.
    expect({ status, reached }).toEqual(
      reached ? { status: 200, reached } : { status: 400, reached },
    );
    if (reached) expect(valuesOf(lastCall(), 'x-original-uri')).toEqual([target]);
  });

  test.for(['OPTIONS *', 'PROPFIND /a', 'BREW /a'])(
    'checks %s with its method and target',
    async (line) => {
      const [method, target] = line.split(' ');
      const bytes = `${line} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`;
      await answerTo(proxy.url, bytes);
      expect(lastCall()).toMatch(/^GET \/haproxy HTTP\/1\.1\r\n/);
      expect(valuesOf(lastCall(), 'x-original-method')).toEqual([method]);
      expect(valuesOf(lastCall(), 'x-original-uri')).toEqual([target]);
    },
  );

  test('sends headgate none of the headers that a client sends in its name', async () => {
    const headers = {
      'X-Original-URI': '/free',
      'X-Original-Method': 'TRACE',
      'X-Headgate-Peer-IP': '203.0.113.1',
      'X-Headgate-Client-IP': '203.0.113.1',
      'X-Headgate-Secret': 'guessed',
      'X-Forwarded-For': '203.0.113.1',
      Cookie: 'session=1',
    };
    await call(proxy.url, '/a', { method: 'POST', body: 'kept', headers });
    const names = (lastCall() ?? '')
      .split('\r\n')
      .flatMap((line) => line.match(/^[^: ]+(?=:)/) ?? []);
    expect(names.sort()).toEqual([
      'accept',
      'host',
      'user-agent',
      'x-headgate-client-ip',
      'x-headgate-peer-ip',
      'x-original-method',
      'x-original-uri',
    ]);
    expect(valuesOf(lastCall(), 'x-original-uri')).toEqual(['/a']);
    expect(valuesOf(lastCall(), 'x-original-method')).toEqual(['POST']);
    expect(valuesOf(lastCall(), 'x-headgate-peer-ip')).toEqual(['127.0.0.1']);
  });

  test('passes an upload of 20 MB unchanged', async () => {
    const body = Buffer.alloc(20_000_000, 'headgate ');
    expect((await call(proxy.url, '/a', { method: 'POST', body })).status).toBe(200);
    const sha256 = hash('sha256', body, 'hex');
    expect(upstream.seen.at(-1)).toMatchObject({ bytes: body.length, sha256 });
  });

  test('denies an upload of 20 MB before it has arrived', async () => {
    const reached = upstream.seen.length;
    const head = 'POST /spent HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n';
    expect(statusOf(await answerTo(proxy.url, head))).toBe(429);
    expect(upstream.seen).toHaveLength(reached);
  });

  test('checks or refuses requests whose headers fill its buffer', async () => {
    const seen = new Set<string>();
    for (let length = 15_700; length < 16_500; length += 40) {
      const bytes = `GET /${'x'.repeat(length)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      const answer = await answerTo(proxy.url, bytes);
      seen.add(`${statusOf(answer)} ${/^x-ratelimit-limit/im.test(answer)}`);
    }
    expect(seen).toContain('200 true');
    expect(seen.size).toBeGreaterThan(1);
    for (const outcome of seen) expect(outcome).toMatch(/^200 true|4(00|31) false$/);
  });

  test('opens at most one connection per thread to the gateway for twenty requests', async () => {
    const before = { connections: relay.connections, calls: relay.heads.length };
    await call(proxy.url, '/a');
    const connected = relay.connections;
    expect(connected).toBeLessThanOrEqual(before.connections + 1);
    expect(new Set(await statuses(20, () => call(proxy.url, '/a')))).toEqual(new Set([200]));
    // The kernel chooses the thread for a request.
    expect(relay.connections).toBeLessThan(connected + availableParallelism());
    expect(relay.heads).toHaveLength(before.calls + 21);
  });

  test('sends the address of a load balancer in front of it as the peer', async () => {
    await using behindAnother = await startHaproxy({
      application: upstream.port,
      headgate: relay.port,
      changes: {
        '#http-request set-src req.hdr_ip(X-Forwarded-For,-1) if { src 10.0.0.0/8 }':
          'http-request set-src req.hdr_ip(X-Forwarded-For,-1) if { src 127.0.0.0/8 }',
      },
    });
    const addresses = async (headers: Record<string, string>) => {
      await call(behindAnother.url, '/a', { headers });
      const names = ['x-headgate-client-ip', 'x-headgate-peer-ip'];
      return names.flatMap((name) => valuesOf(lastCall(), name));
    };
    const forwarded = { 'X-Forwarded-For': '192.0.2.1, 203.0.113.7' };
    expect(await addresses(forwarded)).toEqual(['203.0.113.7', '127.0.0.1']);
    // The same connection has another client now.
    expect(await addresses({})).toEqual(['127.0.0.1', '127.0.0.1']);
  });

  test('sends the check to the next gateway if one is down', async () => {
    await using proxyOfTwo = await startHaproxy({
      application: upstream.port,
      headgate: gateway.port,
      changes: {
        '#retries 1': 'retries 1',
        '#option redispatch 1': 'option redispatch 1',
        '#option httpchk GET /readyz': 'option httpchk GET /readyz',
        '#default-server check port 9464': `default-server check port ${new URL(gateway.opsUrl).port}`,
        '  server headgate ': `  server down 127.0.0.1:${await freePort()}\n  server headgate `,
      },
    });
    for (let i = 0; i < 6; i++) {
      const { headers } = await call(proxyOfTwo.url, '/a');
      expect(headers['x-ratelimit-limit']).toBe('1000000');
    }
  });

  test('keeps connections for checks when clients take all others', async () => {
    await using crowded = await startHaproxy({
      application: upstream.port,
      headgate: relay.port,
      changes: {
        'maxconn 6000': 'maxconn 60',
        'maxconn 2000': 'maxconn 20',
        'timeout queue 500ms': 'timeout queue 10s',
      },
    });
    const answers = Array.from({ length: 40 }, () =>
      call(crowded.url, '/a', { headers: { Connection: 'close' } }),
    );
    const limits = (await Promise.all(answers)).map(({ headers }) => headers['x-ratelimit-limit']);
    expect(new Set(limits)).toEqual(new Set(['1000000']));
  });
});

const ALLOWED = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const SILENCE = 'does not answer';
/** What the gateway does when it has read a check. */
const FAULTS: Readonly<Record<string, (socket: Socket) => void>> = {
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'closes the connection': (socket) => socket.end(),
  'breaks off its answer': (socket) => socket.end('HTTP/1.1 200 OK\r\nX-RateLimit-Lim'),
  'answers with garbage': (socket) => socket.end('\0\x01\x02 of no protocol\r\n\r\n'),
  'answers 500': (socket) => socket.write(ALLOWED.replace('200 OK', '500 Fault')),
  'answers with a redirect': (socket) => socket.write(ALLOWED.replace('200 OK', '302 Found')),
  'answers 204': (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'),
  [SILENCE]: () => {},
};

describeWith('a gateway', () => {
  const stack = new AsyncDisposableStack();
  let fault: ((socket: Socket) => void) | undefined;
  let upstream: Upstream;
  let gateway: Listener;
  const proxies: Record<string, RunningProxy> = {};

  beforeAll(async () => {
    upstream = stack.use(await startUpstream());
    gateway = stack.use(
      await listen((socket) => (fault === undefined ? socket.write(ALLOWED) : fault(socket))),
    );
    const behind = {
      application: upstream.port,
      headgate: gateway.port,
      hasShippedTimeouts: true,
    };
    proxies.open = stack.use(await startHaproxy(behind));
    proxies.closed = stack.use(await startHaproxy({ ...behind, changes: TO_REFUSE }));
  });
  afterAll(() => stack.disposeAsync());

  async function send(proxy: RunningProxy | undefined) {
    const before = { calls: gateway.heads.length, reached: upstream.seen.length };
    const startedMs = performance.now();
    const { status, headers } = await call(proxy?.url ?? '', '/a', { method: 'POST', body: 'a' });
    return {
      seen: {
        status,
        mark: headers[MARK],
        numbers: headers['x-ratelimit-limit'],
        calls: gateway.heads.length - before.calls,
        reached: upstream.seen.length - before.reached,
      },
      tookMs: performance.now() - startedMs,
    };
  }

  const OPEN = { status: 200, mark: 'gateway-unavailable', numbers: undefined, reached: 1 };
  const CLOSED = { status: 503, mark: undefined, numbers: undefined, reached: 0 };

  describe.for(Object.keys(FAULTS))('that %s', (name) => {
    test.for([
      ['open', OPEN],
      ['closed', CLOSED],
    ] as const)('is called once, and HAProxy fails %s', async ([choice, expected]) => {
      // The first check uses an open connection, the second a new one.
      fault = undefined;
      await send(proxies[choice]);
      fault = FAULTS[name];
      for (let i = 0; i < 2; i++) {
        const { seen, tookMs } = await send(proxies[choice]);
        expect(seen).toEqual({ ...expected, calls: 1 });
        if (name === SILENCE) expect(tookMs).toBeGreaterThan(TIMEOUT_MS - EARLY_MS);
      }
    });
  });

  test('that sends its answer byte by byte delays no request', async () => {
    const bytes = [...ALLOWED];
    fault = (socket) => {
      const drip = setInterval(() => socket.write(bytes.shift() ?? ''), TIMEOUT_MS / 3);
      socket.on('close', () => clearInterval(drip));
    };
    const { seen } = await send(proxies.open);
    expect(seen).toEqual({ ...OPEN, calls: 1 });
    expect(bytes).not.toEqual([]);
  });

  test('that has recovered gets the next check', async () => {
    fault = FAULTS['resets the connection'];
    await send(proxies.open);
    fault = undefined;
    const { seen } = await send(proxies.open);
    expect(seen).toEqual({ ...OPEN, mark: undefined, calls: 1 });
  });
});

describeWith('while no gateway runs', () => {
  test.for([
    ['pass and are marked', {}, 200, 'gateway-unavailable'],
    ['are refused with the change of one line', TO_REFUSE, 503, undefined],
  ] as const)('requests %s without waiting', async ([, changes, status, mark]) => {
    await using upstream = await startUpstream();
    const behind = { application: upstream.port, headgate: await freePort(), changes };
    await using proxy = await startHaproxy(behind);
    const tookMs: number[] = [];
    for (let i = 0; i < 5; i++) {
      const startedMs = performance.now();
      const answer = await call(proxy.url, '/a');
      tookMs.push(performance.now() - startedMs);
      expect(answer.status).toBe(status);
      expect(answer.headers[MARK]).toBe(mark);
    }
    // A busy machine delays some.
    expect(Math.min(...tookMs)).toBeLessThan(AT_ONCE_MS);
    expect(upstream.seen).toHaveLength(status === 200 ? 5 : 0);
  });
});

/** All values of each header, in a list. */
async function distinct(url: string, path: string) {
  const { rawHeaders } = await call(url, path);
  const headersDistinct: Record<string, string[]> = {};
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    headersDistinct[name] = [...(headersDistinct[name] ?? []), rawHeaders[i + 1] ?? ''];
  }
  return { headersDistinct };
}
