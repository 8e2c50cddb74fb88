/** A site of HAProxy answers as before once it asks headgate, whatever its `defaults` hand down. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';
import { startUpstream } from '../support/upstream.ts';
import { startHaproxySite } from './support/haproxy-site.ts';
import { type ComparedSite, compareSites, visitSite } from './support/site-comparison.ts';
import { type SiteRequest, siteRequest, siteRequests } from './support/site-requests.ts';
import { startVariedApplication } from './support/varied-application.ts';

const describeWith = describe.skipIf(inject('programs').haproxy === undefined);

const POLICIES = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100000/1h] }
policies:
  - { name: limited, match: { path: "/limited/*" }, limits: [1/1h] }
`;

const get = (path: string, ...headers: string[]) => siteRequest(`GET ${path}`, { headers });
const REQUESTS: readonly SiteRequest[] = [
  ...siteRequests(),
  ...['/folder', '/hello', '/forbidden', '/forbidden/page', '/rewritten', '/alive'].map((path) =>
    get(path),
  ),
  get('/staff/page'),
  get('/staff/page', 'Authorization: Basic YW5uOnB3'),
  get('/staff/page', 'Authorization: Basic YW5uOndyb25n'),
  ...['/static/page', '/static/cacheable', '/static/cacheable', '/static/status-404'].map((path) =>
    get(path),
  ),
  get('/nothing/here'),
  get('/page', 'Cookie: SERVER=first'),
];

/** `/limited/...`, which is denied: in the ways that clients send requests. */
const DENIED: readonly SiteRequest[] = [
  get('/limited/page'),
  siteRequest('HEAD /limited/page'),
  get('/limited/thing.css', 'Accept-Encoding: gzip'),
  siteRequest('POST /limited/upload', { body: 'a small body' }),
  siteRequest('POST /limited/upload', {
    body: '5\r\nfirst\r\n0\r\n\r\n',
    headers: ['Transfer-Encoding: chunked'],
  }),
  siteRequest('GET /limited/page', { version: '1.0' }),
  siteRequest('GET /limited/socket', {
    headers: [
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ],
    body: 'through the tunnel',
    waits: 'upgrade',
  }),
];

interface Site extends ComparedSite {
  readonly proxy: RunningProxy;
}

describeWith('a site of HAProxy', () => {
  const open = new AsyncDisposableStack();
  let gateway: Gateway;
  let plain: Site;
  let guarded: Site;

  async function start(headgate?: number): Promise<Site> {
    const application = open.use(await startVariedApplication());
    const health = open.use(await startUpstream());
    const ports = { application: application.port, health: health.port, policies: POLICIES };
    const proxy = open.use(await startHaproxySite({ ...ports, ...(headgate && { headgate }) }));
    // Twice for each of its two servers. By then a server that fails its first check is down.
    await eventually(
      async () => health.seen.length,
      (count) => count >= 4,
      20_000,
      'health checks',
    );
    return { url: proxy.url, application, proxy };
  }

  beforeAll(async () => {
    const file = temporaryFile(open, POLICIES);
    gateway = open.use(await startGateway({ HEADGATE_POLICIES: file }));
    plain = await start();
    guarded = await start(gateway.port);
  });

  afterAll(() => open.disposeAsync());

  const requestLines = ({ proxy }: Site) =>
    proxy
      .output()
      .split('\n')
      .filter((line) => / HTTP\/1\.[01]"$/.test(line)).length;

  test('answers as before, and writes one line of log for each request', async () => {
    expect(await compareSites(plain, guarded, REQUESTS)).toEqual([]);
    await eventually(
      async () => requestLines(guarded) - requestLines(plain),
      (difference) => difference === 0,
      10_000,
      'as many lines of the log',
    );
    expect(guarded.proxy.output()).not.toContain('headgate_calls');
  });

  test('asks headgate about each request, although the defaults have health checks', async () => {
    const raw = await fetch(`${guarded.url}/thing`);
    expect(raw.headers.get('x-ratelimit-bypass')).toBeNull();
    expect(raw.headers.get('x-ratelimit-limit')).toBe('100000');
  });

  test('denies what is over its limit with a 429, and answers the rest as before', async () => {
    await visitSite(guarded, get('/limited/page'));
    for (const request of DENIED) {
      const { answer, received } = await visitSite(guarded, request);
      expect(answer.status, request.name).toBe('429');
      expect(answer.headers, request.name).toContain('content-type: application/json');
      expect(answer.headers.filter((line) => line.startsWith('retry-after: '))).toHaveLength(1);
      const isHead = request.name.startsWith('HEAD');
      expect(answer.body, request.name).toMatch(isHead ? /^$/ : /"error":"rate_limit_exceeded"/);
      expect(received, request.name).toEqual([]);
    }
    expect(await compareSites(plain, guarded, REQUESTS)).toEqual([]);
  });

  test('answers as before while the gateway is down', async () => {
    await gateway.stop();
    expect(await compareSites(plain, guarded, REQUESTS)).toEqual([]);
    const raw = await fetch(`${guarded.url}/thing`);
    expect(raw.headers.get('x-ratelimit-bypass')).toBe('gateway-unavailable');
  });
});
