/** A web page in a browser whose API is behind each proxy: it reads denials, and preflights use up no limit of a path. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { listenLocally } from '../support/local-server.ts';
import { freePort } from '../support/ports.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { isHere, PROXY_STARTS } from '../support/proxy-starts.ts';

const { chromium: program } = inject('programs');

const OWN = { 'access-control-allow-credentials': 'true', vary: 'Origin, X-Own' };

/** An application that answers preflights and allows the page itself, but for `/plain`, of which it knows no page. */
function corsApplication(origin: () => string) {
  const seen: { method: string; path: string; cookie: string | undefined }[] = [];
  const server = createServer(({ method = '', url: path = '', headers }, response) => {
    seen.push({ method, path, cookie: headers.cookie });
    if (path.startsWith('/plain') || headers.origin !== origin()) {
      response.end('plain');
      return;
    }
    response.writeHead(200, {
      ...OWN,
      'Access-Control-Allow-Origin': origin(),
      'Access-Control-Allow-Headers': 'x-own',
      // The browser remembers no preflight.
      'Access-Control-Max-Age': '0',
    });
    response.end('the application');
  });
  return { server, seen };
}

interface Fetched {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the page gets to read; the name of the error if it may not. */
async function fetched(page: Page, url: string, init: object = {}): Promise<Fetched | string> {
  return page.evaluate(
    `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
      async (answer) => ({
        status: answer.status,
        body: await answer.text(),
        headers: Object.fromEntries(answer.headers),
      }),
      (error) => error.name,
    )`,
  );
}

describe.skipIf(program === undefined)('a web page of another origin', () => {
  const started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-cors-'));
  started.defer(() => rmSync(folder, { recursive: true }));
  let browser: Browser;
  let port: number;

  const origin = () => `http://127.0.0.1:${port}`;
  /** The same pages by another name. The policy file does not list it. */
  const otherOrigin = () => `http://localhost:${port}`;

  beforeAll(async () => {
    const pages = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end('<!doctype html><title>a page</title>');
    });
    port = started.use(await listenLocally(pages)).port;
    const args = ['--disable-dev-shm-usage', '--disable-gpu'];
    browser = await chromium.launch({ executablePath: program ?? '', args });
    started.defer(() => browser.close());
  });
  afterAll(() => started.disposeAsync());

  const policies = () => `version: 1
answers: { cors: { origins: ["${origin()}"], credentials: true } }
default: { limits: [1000/1h] }
policies:
  - { name: once, match: { path: /once }, limits: [1/1h] }
  - { name: plain, match: { path: /plain }, limits: [1/1h] }
  - { name: thrice, match: { path: /thrice }, limits: [3/1h] }
  - { name: private, match: { path: /private }, limits: [1/1h] }
  - { name: spelled, match: { path: /spelled }, limits: [1/1h] }
  - { name: hidden, match: { path: /hidden }, limits: [1/1h] }
`;

  describe.each(PROXY_STARTS)('behind $name', ({ name, start, program: needed }) => {
    const available = isHere({ program: needed }, inject('programs'));
    const testWith = test.skipIf(!available);
    const own = new AsyncDisposableStack();
    const application = corsApplication(origin);
    let proxy: RunningProxy;

    beforeAll(async () => {
      if (!available) return;
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, policies());
      const grpc = name === 'envoy-grpc' ? String(await freePort()) : 'off';
      const env = { HEADGATE_POLICIES: file, HEADGATE_GRPC_PORT: grpc };
      const gateway = own.use(await startGateway(env));
      const upstream = own.use(await listenLocally(application.server));
      const behind = { application: upstream.port, headgate: gateway.port, grpc: Number(grpc) };
      proxy = own.use(await start(behind));
    });
    afterAll(() => own.disposeAsync());

    async function open(at: string): Promise<Page> {
      const context = await browser.newContext();
      own.defer(() => context.close());
      await context.addCookies([{ name: 'session', value: 'secret', url: proxy.url }]);
      const page = await context.newPage();
      await page.goto(at);
      return page;
    }

    testWith('reads the status, the body and the headers of its denial', async () => {
      const page = await open(origin());
      const first = await fetched(page, `${proxy.url}/once`);
      expect(first).toMatchObject({ status: 200, body: 'the application' });
      const denial = (await fetched(page, `${proxy.url}/once`)) as Fetched;
      expect(denial.status).toBe(429);
      expect(JSON.parse(denial.body)).toMatchObject({ error: 'rate_limit_exceeded' });
      expect(Number(denial.headers['retry-after'])).toBeGreaterThan(3_000);
      expect(denial.headers).toMatchObject({
        'content-type': 'application/json',
        ratelimit: expect.stringMatching(/^"once";r=0;t=\d+$/),
        'ratelimit-policy': '"once";q=1;w=3600',
        'x-ratelimit-limit': '1',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
        'x-ratelimit-policy': 'once',
        'x-ratelimit-decision-id': expect.any(String),
      });
    });

    testWith('uses up no limit of a path with its preflights', async () => {
      const page = await open(origin());
      const path = '/thrice';
      const preflight = {
        method: 'OPTIONS',
        headers: { origin: origin(), 'access-control-request-method': 'GET' },
      };
      for (let i = 0; i < 10; i++) {
        expect((await call(proxy.url, path, preflight)).status).toBe(200);
      }
      const statuses: unknown[] = [];
      for (let i = 0; i < 4; i++) {
        const answer = await fetched(page, `${proxy.url}${path}`, { headers: { 'x-own': '1' } });
        statuses.push(typeof answer === 'string' ? answer : answer.status);
      }
      expect(statuses).toEqual([200, 200, 200, 429]);
      const ofPath = application.seen.filter((each) => each.path === path);
      expect(ofPath.filter(({ method }) => method === 'OPTIONS')).toHaveLength(14);
      expect(ofPath.filter(({ method }) => method === 'GET')).toHaveLength(3);
    });

    testWith('reads the denial of a request with cookies', async () => {
      const page = await open(origin());
      const url = `${proxy.url}/private`;
      const init = { credentials: 'include', method: 'POST', body: 'a text' };
      expect(await fetched(page, url, init)).toMatchObject({ status: 200 });
      expect(application.seen.at(-1)).toMatchObject({ cookie: 'session=secret' });
      expect(await fetched(page, url, init)).toMatchObject({
        status: 429,
        headers: { 'retry-after': expect.any(String) },
      });
    });

    testWith('reads nothing if its origin is not listed', async () => {
      const headers = { origin: otherOrigin() };
      await call(proxy.url, '/hidden', { headers });
      const denial = await call(proxy.url, '/hidden', { headers });
      expect(denial.status).toBe(429);
      expect(corsOf(denial.headers)).toEqual({ vary: 'Origin' });
      const page = await open(otherOrigin());
      expect(await fetched(page, `${proxy.url}/hidden`)).toBe('TypeError');
    });

    testWith('is no other page, however its origin is spelled', async () => {
      const deny = (value: string | string[]) =>
        call(proxy.url, '/spelled', { headers: { origin: value } });
      await deny(origin());
      const spellings = [
        origin().replace('http', 'HTTP'),
        origin().replace('127.0.0.1', '127.1'),
        origin().replace('127.0.0.1', '127.0.0.1.'),
        origin().replace('//', '//user@'),
        `${origin()}/`,
        `${origin()}.evil.com`,
        `${origin()}@evil.com`,
        `${origin()}, ${origin()}`,
        'null',
        '*',
      ];
      for (const spelling of spellings) {
        const denial = await deny(spelling);
        expect(denial.status, spelling).toBe(429);
        expect(corsOf(denial.headers), spelling).toEqual({ vary: 'Origin' });
      }
      const twice = await deny([origin(), otherOrigin()]);
      // NGINX before 1.23 reads the first of two lines. No browser sends two.
      const possible = name === 'nginx' ? [undefined, origin()] : [undefined];
      expect(possible).toContain(corsOf(twice.headers)['access-control-allow-origin']);
    });

    testWith('gets the answers of the application as the application sent them', async () => {
      const headers = { origin: origin() };
      const plain = await call(proxy.url, '/plain', { headers });
      expect(plain).toMatchObject({ status: 200, body: 'plain' });
      expect(corsOf(plain.headers)).toEqual({});
      const other = await call(proxy.url, '/other', { headers });
      expect(corsOf(other.headers)).toEqual({
        ...OWN,
        'access-control-allow-origin': origin(),
        'access-control-allow-headers': 'x-own',
        'access-control-max-age': '0',
      });
    });
  });
});

function corsOf(headers: Awaited<ReturnType<typeof call>>['headers']) {
  const isOfCors = (name: string) => name === 'vary' || name.startsWith('access-control-');
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isOfCors(name)));
}
