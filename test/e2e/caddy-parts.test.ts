/** What the snippets of headgate do in sites of Caddy, as its quickstart says. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { CADDIES } from '../support/proxies.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { startCaddySite } from './support/caddy-site.ts';

const POLICIES = `
version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [3/1h] }
  - { name: private, match: { path: /private }, limits: [3/1h] }
  - { name: strict, match: { method: POST, path: /strict }, limits: [9/1h], on_gateway_failure: deny }
  - { name: public, match: { method: POST, path: /public/login }, limits: [1/1h] }
`;
const USER = 'a-user $2b$04$abcdefghijklmnopqrstuuyvPXIbu7xe6/CED2DzX8z6Si09MlzlW';
const WRONG = { authorization: `Basic ${Buffer.from('a-user:wrong').toString('base64')}` };
const RIGHT = { authorization: `Basic ${Buffer.from('a-user:pw').toString('base64')}` };

const folder = mkdtempSync(join(tmpdir(), 'headgate-caddy-parts-'));
const policies = join(folder, 'policies.yaml');
let application: Upstream;
beforeAll(async () => {
  writeFileSync(policies, POLICIES);
  application = await startUpstream();
});
afterAll(async () => {
  await application[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

describe.each(CADDIES)('%s', (program) => {
  const isHere = inject('programs')[program] !== undefined;

  /** Each site has a gateway that has counted nothing. */
  async function startSite(lines: string) {
    const stack = new AsyncDisposableStack();
    const gateway: Gateway = stack.use(await startGateway({ HEADGATE_POLICIES: policies }));
    const stopGateway = () => gateway[Symbol.asyncDispose]();
    const caddyfile = `{\nadmin off\nauto_https off\nimport headgate-global.caddy\n}\nimport headgate.caddy\nSITE {\n${lines}\n}`;
    const ports = { headgate: gateway.port, application: application.port };
    const site = await startCaddySite({ program, policies: POLICIES, caddyfile, ...ports });
    stack.use(site);
    return { url: site.url, stopGateway, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test.skipIf(!isHere)('headgate checks the path of the client only', async () => {
    await using site = await startSite(
      'rewrite /old/* /login\nimport headgate\nreverse_proxy APPLICATION',
    );
    const post = () => call(site.url, '/old/x', { method: 'POST' });
    expect(await statuses(6, post)).toEqual(Array(6).fill(200));
  });

  test.skipIf(!isHere)('headgate_rewritten checks the new path as well', async () => {
    await using site = await startSite(
      'import headgate_rewritten\nrewrite /old/* /login\nreverse_proxy APPLICATION',
    );
    const post = () => call(site.url, '/old/x', { method: 'POST' });
    expect(await statuses(5, post)).toEqual([200, 200, 200, 429, 429]);
    const denied = await post();
    expect(JSON.parse(denied.body)).toMatchObject({ policy: 'login' });
    expect(denied.headers['x-ratelimit-limit']).toBe('3');
    const { headers } = await call(site.url, '/old/x');
    expect(headers['x-ratelimit-limit']).toBe('1000');
  });

  test.skipIf(!isHere)('headgate_rewritten checks both paths of a handle_path', async () => {
    await using site = await startSite(
      'handle_path /public/* {\nimport headgate_rewritten\nreverse_proxy APPLICATION\n}',
    );
    const post = (path: string) => call(site.url, path, { method: 'POST' });
    expect((await post('/public/login')).status).toBe(200);
    expect(JSON.parse((await post('/public/login')).body)).toMatchObject({ policy: 'public' });
    expect(await statuses(4, () => post('/public//login'))).toEqual(Array(4).fill(429));
  });

  /** Of requests one after the other that change nothing on their way to the application, or that do. */
  test.skipIf(!isHere).each([
    ['which no rewrite changes', '/a', '/c?x=1', '/a%20b', '/a"b', '//a', '/%61;x', '/{x}'],
    ['whose new path has the same policy', '/new/a', '/pages/a?b=c', '/query', '/new/%61'],
  ])('headgate_rewritten counts a request once %s', async (_, ...paths) => {
    await using site = await startSite(
      `import headgate_rewritten
       uri /new/* strip_prefix /new
       rewrite /pages/* /index.html
       rewrite /query /query?added
       reverse_proxy APPLICATION`,
    );
    const remaining: unknown[] = [];
    for (const path of paths) {
      const { headers } = await call(site.url, path);
      remaining.push(headers['x-ratelimit-remaining']);
    }
    expect(remaining).toEqual(paths.map((_, i) => String(999 - i)));
  });

  test.skipIf(!isHere)('no header of a client changes which paths are checked', async () => {
    await using site = await startSite(
      `handle /plain/* {
         import headgate
         reverse_proxy APPLICATION
       }
       handle {
         import headgate_rewritten
         reverse_proxy APPLICATION
       }
       rewrite /old/* /login`,
    );
    const headers = {
      'X-Headgate-Original-Uri': '/public/login',
      'X-Forwarded-Uri': '/harmless',
      'X-Headgate-Request-Id': 'the same',
    };
    const post = (path: string) => call(site.url, path, { method: 'POST', headers });
    expect(await statuses(2, () => post('/plain/x'))).toEqual([200, 200]);
    expect(await statuses(4, () => post('/old/x'))).toEqual([200, 200, 200, 429]);
    expect((await post('/public/login')).status).toBe(200);
  });

  test.skipIf(!isHere)('without the gateway, both paths decide what is refused', async () => {
    const rewrite = 'rewrite /old/* /strict\nreverse_proxy APPLICATION';
    await using checked = await startSite(`import headgate_rewritten\n${rewrite}`);
    await using plain = await startSite(`import headgate\n${rewrite}`);
    await checked.stopGateway();
    await plain.stopGateway();
    const answers = async (url: string) => {
      const found: number[] = [];
      for (const path of ['/old/x', '/strict', '/other']) {
        found.push((await call(url, path, { method: 'POST' })).status);
      }
      return found;
    };
    expect(await answers(checked.url)).toEqual([503, 503, 200]);
    expect(await answers(plain.url)).toEqual([200, 503, 200]);
  });

  test.skipIf(!isHere)('basicauth in the site comes before the check', async () => {
    await using site = await startSite(
      `import headgate\nbasicauth {\n${USER}\n}\nreverse_proxy APPLICATION`,
    );
    const visit = (headers: Record<string, string>) => call(site.url, '/private', { headers });
    expect(await statuses(5, () => visit(WRONG))).toEqual(Array(5).fill(401));
    expect(await statuses(4, () => visit(RIGHT))).toEqual([200, 200, 200, 429]);
  });

  const GUARDED = `handle /private* {\nroute {\nimport headgate\nbasicauth {\n${USER}\n}\nreverse_proxy APPLICATION\n}\n}`;
  test
    .skipIf(!isHere)
    .each([
      `${GUARDED}\nhandle {\nimport headgate\nreverse_proxy APPLICATION\n}`,
      `${GUARDED}\nreverse_proxy APPLICATION`,
      `${GUARDED}\nhandle_path /other/* {\nimport headgate\nreverse_proxy APPLICATION\n}\nroute {\nimport headgate\nreverse_proxy APPLICATION\n}`,
    ])('a route in a handle keeps the password, whatever is beside it: %#', async (lines) => {
    await using site = await startSite(lines);
    expect((await call(site.url, '/private')).status).toBe(401);
    const visit = () => call(site.url, '/private', { headers: WRONG });
    expect(await statuses(3, visit)).toEqual([401, 401, 429]);
    expect((await call(site.url, '/other/x')).status).toBe(200);
  });

  test.skipIf(!isHere)('in a route, wrong passwords are counted', async () => {
    await using site = await startSite(
      `route {\nimport headgate\nbasicauth {\n${USER}\n}\nreverse_proxy APPLICATION\n}`,
    );
    const { status, headers } = await call(site.url, '/private', { headers: WRONG });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Basic realm="restricted"']);
    const visit = () => call(site.url, '/private', { headers: WRONG });
    expect(await statuses(4, visit)).toEqual([401, 401, 429, 429]);
  });

  test.skipIf(!isHere)('the file for a site passes requests on, as in 0.2', async () => {
    await using site = await startSite('import headgate-site.caddy');
    const headers = { 'x-original-url': '/login' };
    const { status, body } = await call(site.url, '/x', { headers });
    expect([status, body]).toEqual([200, 'the application']);
    expect(application.seen.at(-1)?.headers['x-original-url']).toBeUndefined();
  });
});
