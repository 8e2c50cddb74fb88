/**
 * The token with which an application reports what a request turned out to cost: each proxy passes it from the gateway to
 * the application, and never from or to a client. The gateway's POST /settle is not reachable through a proxy.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { call } from '../support/http.ts';
import { type LocalServer, listenLocally } from '../support/local-server.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { isHere, PROXY_ROWS, type ProxyRow } from '../support/proxy-starts.ts';
import { answerTo } from '../support/raw-http.ts';
import { realTraefik } from '../support/traefik.ts';
import { type StandInAuthorizer, startStandInAuthorizer } from './support/stand-in-authorizer.ts';

const TOKEN = 'dG9rZW4-of_the.gateway';
const OWN = 'of-the-client';

interface Application extends LocalServer {
  readonly seen: { readonly target: string; readonly headers: IncomingHttpHeaders }[];
}

/** An application that echoes the header, as a careless one would. */
async function startEchoingApplication(): Promise<Application> {
  const seen: Application['seen'] = [];
  const server = createServer(({ method, url, headers }, response) => {
    seen.push({ target: `${method} ${url}`, headers });
    const token = headers['x-headgate-settle'] ?? 'of-the-application';
    response.writeHead(200, { 'X-Headgate-Settle': token }).end('the application');
  });
  server.keepAliveTimeout = 3_600_000;
  return { ...(await listenLocally(server)), seen };
}

const programs = inject('programs');
const traefik = await realTraefik();
const rows: ProxyRow[] = [...PROXY_ROWS];
if (traefik !== undefined) {
  rows.push({ proxy: 'Traefik itself', program: undefined, tested: 'its files', start: traefik });
}

/** Where a proxy sends its checks: nothing else of the gateway is reachable. */
const MOUNTS: Readonly<Record<string, RegExp>> = {
  NGINX: /^HEAD \/nginx$/,
  'NGINX behind Cloudflare': /^HEAD \/nginx$/,
  'Envoy, HTTP': /^\S+ \/envoy/,
  'Envoy, gRPC': /^never$/,
  Caddy: /^GET \/caddy\??$/,
  HAProxy: /^GET \/haproxy$/,
  Traefik: /^GET \/traefik$/,
  'Traefik itself': /^GET \/traefik$/,
  'ingress-nginx': /^HEAD \/ingress-nginx$/,
  APISIX: /^GET \/apisix$/,
};

/** With `PORT` for the gateway's own port. */
const SETTLE_REQUESTS = [
  'POST /settle HTTP/1.1\r\nHost: shop.example',
  'POST /settle HTTP/1.1\r\nHost: 127.0.0.1:PORT',
  'POST /settle?x HTTP/1.1\r\nHost: headgate',
  'POST //settle HTTP/1.1\r\nHost: headgate',
  'POST /../settle HTTP/1.1\r\nHost: headgate',
  'POST /%2e%2e/settle HTTP/1.1\r\nHost: headgate',
  'POST /..%2fsettle HTTP/1.1\r\nHost: headgate',
  'POST /a/../../settle HTTP/1.1\r\nHost: headgate',
  'POST /envoy/../../settle HTTP/1.1\r\nHost: headgate',
  'POST /nginx/../settle HTTP/1.1\r\nHost: headgate',
  'POST /_headgate/../settle HTTP/1.1\r\nHost: headgate',
  'POST /\\..\\settle HTTP/1.1\r\nHost: headgate',
  'POST http://127.0.0.1:PORT/settle HTTP/1.1\r\nHost: 127.0.0.1:PORT',
  'POST http://headgate/settle HTTP/1.1\r\nHost: headgate',
  'GET / HTTP/1.1\r\nHost: headgate\r\nX-Original-URI: /settle\r\nX-Original-Method: POST',
  'GET / HTTP/1.1\r\nHost: headgate\r\nX-Forwarded-Uri: /settle\r\nX-Forwarded-Method: POST',
  'GET / HTTP/1.1\r\nHost: headgate\r\nX-HTTP-Method-Override: POST\r\nX-Rewrite-URL: /settle',
];

describe.each(rows)('$proxy $program', ({ proxy, program, start }) => {
  const available = isHere({ program }, programs);
  const testWith = test.skipIf(!available);
  const stack = new AsyncDisposableStack();
  let authorizer: StandInAuthorizer;
  let application: Application;
  let running: RunningProxy;

  beforeAll(async () => {
    if (!available) return;
    authorizer = stack.use(await startStandInAuthorizer());
    application = stack.use(await startEchoingApplication());
    const { headgate, grpc } = authorizer;
    running = stack.use(await start({ application: application.port, headgate, grpc }));
  });
  afterAll(() => stack.disposeAsync());

  /** Sends a request with these headers of the client. Resolves to what the application and the client got. */
  async function tokensOf(headers: Record<string, string | string[]>) {
    const before = application.seen.length;
    const answer = await call(running.url, '/api/upload', { method: 'POST', headers });
    expect(answer).toMatchObject({ status: 200, body: 'the application' });
    const seen = application.seen.slice(before);
    expect(seen).toHaveLength(1);
    return [seen[0]?.headers['x-headgate-settle'], answer.headers['x-headgate-settle']];
  }

  const CLIENTS = [
    {},
    { 'X-Headgate-Settle': OWN },
    { 'x-headgate-settle': OWN },
    { 'X-HEADGATE-SETTLE': [OWN, OWN] },
    { 'X-Headgate-Settle': '' },
    // A proxy would remove it from the request to the application, which could not settle then.
    { 'X-Headgate-Settle': TOKEN, Connection: 'close, X-Headgate-Settle' },
    { Connection: 'keep-alive,x-HEADGATE-settle ' },
  ];

  testWith('passes the token of the gateway to the application only', async () => {
    authorizer.token = TOKEN;
    for (const headers of CLIENTS)
      expect(await tokensOf(headers), JSON.stringify(headers)).toEqual([TOKEN, undefined]);
  });

  testWith('passes no token that the gateway has not sent', async () => {
    authorizer.token = undefined;
    for (const headers of CLIENTS)
      expect(await tokensOf(headers), JSON.stringify(headers)).toEqual([undefined, undefined]);
  });

  testWith("does not reach the gateway's POST /settle", async () => {
    authorizer.token = TOKEN;
    authorizer.targets.length = 0;
    for (const request of SETTLE_REQUESTS) {
      const head = request.replaceAll('PORT', String(authorizer.headgate));
      const rest = 'Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close';
      const answer = await answerTo(running.url, `${head}\r\n${rest}\r\n\r\n{}`);
      expect(answer.toLowerCase(), request).not.toContain('x-headgate-settle');
    }
    expect(application.seen.some(({ target }) => target === 'POST /settle')).toBe(true);
    const strays = authorizer.targets.filter((target) => !MOUNTS[proxy]?.test(target));
    expect(strays).toEqual([]);
  });

  testWith('passes no token of a client while the gateway is down', async () => {
    await authorizer[Symbol.asyncDispose]();
    for (const headers of CLIENTS)
      expect(await tokensOf(headers), JSON.stringify(headers)).toEqual([undefined, undefined]);
  });
});
