/** What only NGINX does, with its files of deploy/. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { type RunningProxy, startNginx } from '../support/proxies.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const CLOUDFLARE = new URL('../../deploy/nginx/cloudflare.conf', import.meta.url);
const RANGES = new URL('../../config/cloudflare-ranges.yaml', import.meta.url);
const LOGIN = '/api/auth/login';
const TWENTY_MEGABYTES = 20 * 1024 * 1024;

test('cloudflare.conf has the networks of Cloudflare that headgate has', () => {
  const { ranges } = parse(readFileSync(RANGES, 'utf8')) as { ranges: string[] };
  const believed = readFileSync(CLOUDFLARE, 'utf8').matchAll(/^set_real_ip_from (\S+);$/gm);
  expect([...believed].map(([, range]) => range)).toEqual(ranges);
});

describe.skipIf(inject('programs').nginx === undefined)('NGINX', () => {
  let stack: AsyncDisposableStack;
  let gateway: Gateway;
  let upstream: Upstream;
  let proxy: RunningProxy;

  async function setUp(changes: Readonly<Record<string, string>> = {}) {
    stack = new AsyncDisposableStack();
    gateway = stack.use(await startGateway());
    upstream = stack.use(await startUpstream());
    const behind = { application: upstream.port, headgate: gateway.port };
    proxy = stack.use(await startNginx({ ...behind, changes }));
  }
  afterEach(() => stack.disposeAsync());

  const login = (headers: Record<string, string> = {}) =>
    call(proxy.url, LOGIN, { method: 'POST', headers });

  describe('behind Cloudflare', () => {
    const included = `include "${fileURLToPath(CLOUDFLARE)}";`;

    test('counts the clients of Cloudflare separately', async () => {
      // The test connects in place of Cloudflare.
      await setUp({ '#include cloudflare.conf;': `${included} set_real_ip_from 127.0.0.1;` });
      const from = (address: string) => () => login({ 'CF-Connecting-IP': address });
      expect(await statuses(6, from('203.0.113.9'))).toEqual([200, 200, 200, 200, 200, 429]);
      expect((await from('203.0.113.10')()).status).toBe(200);
      expect(upstream.seen.at(-1)?.headers['x-real-ip']).toBe('203.0.113.10');
    });

    test('ignores CF-Connecting-IP of other peers', async () => {
      await setUp({ '#include cloudflare.conf;': included });
      const codes = await statuses(6, (i) => login({ 'CF-Connecting-IP': `203.0.113.${i}` }));
      expect(codes).toEqual([200, 200, 200, 200, 200, 429]);
    });
  });

  test('counts a request once that is redirected within NGINX', async () => {
    await setUp({
      'location / {': `location = /start {
        auth_request /_headgate;
        try_files /nothing ${LOGIN};
      }
      location / {`,
    });
    const remaining: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { headers } = await call(proxy.url, '/start');
      remaining.push(String(headers['x-ratelimit-remaining']));
    }
    expect(remaining).toEqual(['999', '998', '997']);
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toMatch(/^headgate_repeated_checks_total 3$/m);
    expect(body).toMatch(/^headgate_decisions_total{policy="default",verdict="allow"} 3$/m);
  });

  test('ignores a request id of the client', async () => {
    await setUp();
    const ids = { 'X-Request-ID': 'one-and-the-same', 'X-Headgate-Request-ID': 'one-and-the-same' };
    expect(await statuses(6, () => login(ids))).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('passes an upload of twenty megabytes, or denies it', async () => {
    await setUp();
    const body = Buffer.alloc(TWENTY_MEGABYTES);
    const upload = () => call(proxy.url, LOGIN, { method: 'POST', body });
    expect((await upload()).status).toBe(200);
    expect(upstream.seen[0]?.bytes).toBe(TWENTY_MEGABYTES);
    await statuses(4, () => login());
    expect((await upload()).status).toBe(429);
    expect(upstream.seen).toHaveLength(5);
  });
});
