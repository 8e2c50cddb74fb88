/** NGINX sends a check once for each request, also if an error page or another internal redirect follows. */
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as dial } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { call, type HttpCall } from '../support/http.ts';
import { listenLocally } from '../support/local-server.ts';
import { type NginxSite, startNginxSite } from '../support/nginx-site.ts';

const POLICIES = `
version: 1
identity: { sources: [ip] }
default: { limits: [{ rate: 100/1h, refund: { status: [204] } }, 1000/1d] }
`;

const CHECK = 'include headgate-location.conf;';
const HTTP = `
include headgate-http.conf;
server {
  listen PORT;
  listen unix:/run/http2.sock http2;
  include headgate-server.conf;
  root .;
  location / {
    ${CHECK}
    error_page 502 /page;
    proxy_intercept_errors on;
    proxy_pass APPLICATION;
  }
  location /files/ { ${CHECK} try_files $uri @application; }
  location /tried/ { ${CHECK} try_files $uri /page; }
  location /chain/ {
    ${CHECK}
    recursive_error_pages on;
    proxy_intercept_errors on;
    error_page 502 = @chain;
    proxy_pass APPLICATION;
  }
  location @chain {
    ${CHECK}
    recursive_error_pages on;
    proxy_intercept_errors on;
    error_page 502 = @application;
    proxy_pass APPLICATION;
  }
  location @application { ${CHECK} proxy_pass APPLICATION; }
  location /old/ { ${CHECK} rewrite ^/old/(.*) /$1 last; }
  location /unchecked/ { error_page 404 = @application; }
  location /own403/ { error_page 403 /page; ${CHECK} proxy_pass APPLICATION; }
  location = /folder/ { ${CHECK} index page.html; alias ./; }
  location = /folder/page.html { ${CHECK} proxy_pass APPLICATION; }
}`;

/** What the gateway does with each check. By default it allows. */
type Verdict = 'allow' | 'deny' | 'fail';

class Lab implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  /** For the next checks, in order. */
  readonly verdicts: Verdict[] = [];
  readonly checks: string[] = [];
  /** What reached the application: method, path and the number of the check of its token. */
  readonly received: string[] = [];
  url = '';
  /** The socket for HTTP/2. */
  socket = '';

  static async start(): Promise<Lab> {
    const lab = new Lab();
    const gateway = await listenLocally(createServer((...each) => lab.#check(...each)));
    const application = await listenLocally(createServer((...each) => lab.#answer(...each)));
    const site: NginxSite = {
      ...{ policies: POLICIES, http: HTTP, files: { 'page.html': 'a page' } },
      ...{ headgate: gateway.port, application: application.port },
    };
    const { url, folder } = lab.#stack.use(await startNginxSite(site));
    lab.url = url;
    lab.socket = join(folder, 'http2.sock');
    lab.#stack.use(gateway);
    lab.#stack.use(application);
    return lab;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Sends a request, with what the gateway does with its checks. */
  async visit(path: string, verdicts: Verdict[] = [], options: HttpCall = {}) {
    for (const list of [this.checks, this.received, this.verdicts]) list.length = 0;
    this.verdicts.push(...verdicts);
    const { status, headers } = await call(this.url, path, options);
    return {
      status,
      checks: [...this.checks],
      received: [...this.received],
      remaining: headers['x-ratelimit-remaining'],
      bypass: headers['x-ratelimit-bypass'],
      token: headers['x-headgate-settle'],
    };
  }

  #check({ headers }: IncomingMessage, response: ServerResponse): void {
    this.checks.push(`${headers['x-original-method']} ${headers['x-original-uri']}`);
    const verdict = this.verdicts.shift() ?? 'allow';
    // NGINX would try a connection that is closed once more.
    if (verdict === 'fail') {
      response.writeHead(503).end();
      return;
    }
    const number = String(this.checks.length);
    const quota = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': number };
    if (verdict === 'allow') {
      response.writeHead(200, { ...quota, 'X-Headgate-Settle': number }).end();
    } else response.writeHead(429, { ...quota, 'X-Headgate-Body': '{}' }).end();
  }

  #answer({ method, url, headers }: IncomingMessage, response: ServerResponse): void {
    this.received.push(`${method} ${url} ${headers['x-headgate-settle']}`);
    if (url === '/accelerated') response.setHeader('X-Accel-Redirect', '/page');
    response.writeHead(/^\/(broken|chain)/.test(url ?? '') ? 502 : 200).end();
  }
}

describe.skipIf(inject('programs').nginx === undefined)('NGINX', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.start();
  });
  afterAll(() => lab?.[Symbol.asyncDispose]());
  beforeEach(() => {
    lab.verdicts.length = 0;
  });

  test.each([
    ['an error page', '/broken', 502, ['GET /broken 1', 'GET /page 1']],
    ['two error pages', '/chain/x', 502, Array.from({ length: 3 }, () => 'GET /chain/x 1')],
    ['try_files with a name', '/files/none', 200, ['GET /files/none 1']],
    ['try_files with a path', '/tried/none', 200, ['GET /page 1']],
    ['rewrite', '/old/x', 200, ['GET /x 1']],
    ['rewrite and an error page', '/old/broken', 502, ['GET /broken 1', 'GET /page 1']],
    ['X-Accel-Redirect', '/accelerated', 200, ['GET /accelerated 1', 'GET /page 1']],
    ['index', '/folder/', 200, ['GET /folder/page.html 1']],
    ['an error page of a location without a check', '/unchecked/x', 200, ['GET /unchecked/x 1']],
  ])(
    'checks once with %s, and keeps what the gateway answered',
    async (_, path, status, received) => {
      expect(await lab.visit(path)).toEqual({
        ...{ status, received, checks: [`GET ${path}`] },
        ...{ remaining: '1', bypass: undefined, token: undefined },
      });
    },
  );

  test('checks a POST once, though its error page is a GET', async () => {
    expect(await lab.visit('/broken', [], { method: 'POST', body: 'a=1' })).toMatchObject({
      ...{ status: 502, checks: ['POST /broken'], received: ['POST /broken 1', 'GET /page 1'] },
      remaining: '1',
    });
  });

  test('checks again if no gateway answered the first time', async () => {
    expect(await lab.visit('/broken', ['fail'])).toMatchObject({
      ...{ status: 502, checks: ['GET /broken', 'GET /broken'] },
      received: ['GET /broken undefined', 'GET /page 2'],
      ...{ remaining: '2', bypass: undefined },
    });
    expect(await lab.visit('/broken', ['fail', 'fail'])).toMatchObject({
      ...{ status: 502, bypass: 'gateway-unavailable', remaining: undefined },
      checks: ['GET /broken', 'GET /broken'],
    });
    const denied = await lab.visit('/broken', ['fail', 'deny']);
    expect(denied).toMatchObject({ status: 403, received: ['GET /broken undefined'] });
  });

  test('checks again on a page for denials', async () => {
    const denied = await lab.visit('/own403/x', ['deny', 'deny']);
    expect(denied).toMatchObject({
      ...{ status: 403, received: [], checks: ['GET /own403/x', 'GET /own403/x'] },
    });
    const allowed = await lab.visit('/own403/x', ['deny', 'allow']);
    expect(allowed).toMatchObject({ received: ['GET /page 2'], remaining: '2' });
  });

  test('denies a request whose first check denies', async () => {
    for (const path of ['/broken', '/chain/x', '/files/none', '/tried/none', '/old/x', '/folder/'])
      expect(await lab.visit(path, ['deny'])).toMatchObject({
        ...{ status: 429, received: [], checks: [`GET ${path}`], remaining: '1' },
      });
  });

  test('checks every request of a connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 3; i++) {
      expect(await lab.visit('/broken', [], { agent })).toMatchObject({
        status: 502,
        remaining: '1',
      });
      const denied = await lab.visit('/broken', ['deny'], { agent });
      expect(denied).toMatchObject({ status: 429, received: [], checks: ['GET /broken'] });
    }
    agent.destroy();
  });

  test('checks every request of a connection over HTTP/2', async () => {
    lab.checks.length = lab.received.length = 0;
    const session = connect('http://shop.example', { createConnection: () => dial(lab.socket) });
    const answers = Array.from({ length: 10 }, async () => {
      const stream = session.request({ ':path': '/broken' }).resume();
      const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
      return headers['x-ratelimit-remaining'];
    });
    expect((await Promise.all(answers)).sort()).toEqual(
      Array.from({ length: 10 }, (_, i) => String(i + 1)).sort(),
    );
    expect(lab.checks).toHaveLength(10);
    expect(lab.received.toSorted()).toEqual(
      ['/broken', '/page'].flatMap((path) =>
        Array.from({ length: 10 }, (_, i) => `GET ${path} ${i + 1}`).sort(),
      ),
    );
    session.close();
  });
});
