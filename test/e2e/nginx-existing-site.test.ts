/** What the parts of headgate change in an NGINX that has a site already, and what headgate doctor says about it. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { examineProxyFile } from '../../src/cli/proxy-files/read/examine-files.ts';
import type { Diagnostic } from '../../src/gateway/config/diagnostic.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { startNginxSite, type WrittenSite, writeNginxSite } from '../support/nginx-site.ts';
import { findProgram } from '../support/programs.ts';
import { nginxArguments } from '../support/proxies.ts';
import { validFile } from '../support/proxy-config.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { shown } from './support/nginx-quickstart.ts';

const WITH_KEYS =
  'version: 1\nidentity: { sources: [api_key, ip] }\ndefault: { limits: [99/1h] }\n';
const WITHOUT_HEADERS = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [99/1h] }\n';

let gateway: Gateway;
let application: Upstream;
beforeAll(async () => {
  gateway = await startGateway();
  application = await startUpstream();
});
afterAll(async () => {
  await gateway.stop();
  await application[Symbol.asyncDispose]();
});

function site(http: string, policies = WITH_KEYS) {
  return { policies, http, headgate: gateway.port, application: application.port };
}

/** What headgate doctor finds in the files of a site. */
async function findingsOn({ file }: WrittenSite, policies = WITH_KEYS): Promise<Diagnostic[]> {
  const settings = readEnvironment({ HEADGATE_PORT: String(gateway.port) });
  const text = readFileSync(file, 'utf8');
  const read = { file, path: file, text, policies: validFile(policies), settings };
  const findings = await examineProxyFile({ ...read, isAccepted: async () => undefined });
  return findings.filter(({ severity }) => severity !== 'fine');
}

/** What the application and the client see of a request, and the page for one that is not found. */
async function visit(url: string) {
  const { headers } = await call(url, '/', { headers: { 'x-api-key': 'a-key' } });
  const { 'x-site': fromSite, 'x-api-key': key } = application.seen.at(-1)?.headers ?? {};
  const missing = await call(url, '/missing-page');
  return {
    fromSite,
    key,
    hsts: headers['strict-transport-security'],
    limit: headers['x-ratelimit-limit'],
    page: missing.body,
  };
}

async function lastOfSixLogins(url: string) {
  const login = () => call(url, '/api/auth/login', { method: 'POST' });
  for (let n = 0; n < 5; n++) await login();
  return login();
}

const SITE_LINES = {
  proxy_set_header: 'proxy_set_header X-Site $host;',
  add_header: 'add_header Strict-Transport-Security max-age=9 always;',
  error_page: 'error_page 404 /not-found.html;',
};

/** A site with its lines in the block `server`, and others in the location. */
function siteWith(server: string, location: string, http = ''): string {
  return `
include headgate-http.conf;
${http}
server {
  listen PORT;
  include headgate-server.conf;
  ${server}
  location = /not-found.html { return 200 "the page of the site"; }
  location / {
    include headgate-location.conf;
    ${location}
    if ($request_uri = /missing-page) { return 404; }
    proxy_pass APPLICATION;
  }
}`;
}

describe.skipIf(inject('programs').nginx === undefined)('an existing NGINX', () => {
  const all = Object.values(SITE_LINES).join('\n  ');

  test('without headgate has its lines everywhere', async () => {
    const http = siteWith(all, '').replaceAll(/^.*include .*$/gm, '');
    await using nginx = await startNginxSite(site(http));
    expect(await visit(nginx.url)).toMatchObject({
      fromSite: '127.0.0.1',
      hsts: 'max-age=9',
      page: 'the page of the site',
      limit: '999',
    });
  });

  test.each(['server', 'http'])('loses lines of the block %s in the location', async (block) => {
    const http = block === 'http' ? siteWith('', '', all) : siteWith(all, '');
    await using nginx = await startNginxSite(site(http));
    const visited = await visit(nginx.url);
    expect(visited).toMatchObject({ key: 'a-key', limit: expect.stringMatching(/^\d+$/) });
    expect([visited.fromSite, visited.hsts]).toEqual([undefined, undefined]);
    expect(visited.page).not.toBe('the page of the site');
    const findings = await findingsOn(nginx);
    const lines = readFileSync(nginx.file, 'utf8').split('\n');
    const placeOf = (text: string) =>
      `${nginx.file}:${lines.findIndex((line) => line.includes(text)) + 1}`;
    const places = ['X-Site', 'Strict', 'error_page 404'].map(placeOf).join(', ');
    const [finding, ...others] = findings;
    expect([finding, ...others].map((each) => each?.file)).toEqual([placeOf('location / {')]);
    expect(finding?.rule).toBe('lines-not-inherited');
    const [, named, copied] =
      /^3 lines \((.*)\) do not apply in this location: (.*)$/.exec(finding?.message ?? '') ?? [];
    expect(named).toBe(places);
    const repeated = siteWith(all, copied ?? '');
    await using advised = await startNginxSite(site(repeated));
    expect(await visit(advised.url)).toMatchObject({
      fromSite: '127.0.0.1',
      hsts: 'max-age=9',
      page: 'the page of the site',
    });
    expect(await findingsOn(advised)).toEqual([]);
  });

  test('keeps them if the location repeats them, and headgate doctor is content', async () => {
    await using nginx = await startNginxSite(site(siteWith(all, all)));
    expect(await visit(nginx.url)).toMatchObject({
      fromSite: '127.0.0.1',
      hsts: 'max-age=9',
      page: 'the page of the site',
    });
    expect(await findingsOn(nginx)).toEqual([]);
  });

  test('keeps its proxy_set_header if the policy file reads no header', async () => {
    await using nginx = await startNginxSite(
      site(siteWith(SITE_LINES.proxy_set_header, ''), WITHOUT_HEADERS),
    );
    expect((await visit(nginx.url)).fromSite).toBe('127.0.0.1');
    expect(await findingsOn(nginx, WITHOUT_HEADERS)).toEqual([]);
  });

  test('loses lines of the block http in a server that includes the part for locations', async () => {
    const http = siteWith('include headgate-location.conf;', '', all).replace(
      /(location \/ \{\n) *include .*/,
      '$1',
    );
    await using nginx = await startNginxSite(site(http));
    expect(await visit(nginx.url)).toMatchObject({ fromSite: undefined, hsts: undefined });
    const problems = (await findingsOn(nginx)).map(({ message }) => message);
    expect(problems).toEqual([
      expect.stringMatching(/^3 lines \(.*\) do not apply in this server: /),
    ]);
  });

  test('had lost lines before if its location has some of its own', async () => {
    const own = 'proxy_set_header X-Other 1; add_header X-Other 1; error_page 405 /not-found.html;';
    const written = await writeNginxSite(site(siteWith(all, own)));
    expect(await findingsOn(written)).toEqual([]);
  });

  test('with a location in a location, and other ways to the application', async () => {
    const nested = siteWith(all, '').replace(
      /(location \/ \{)([\s\S]*)(\n {2}\}\n\})$/,
      '$1 add_header X-Outer 1; location /in/ {$2}$3',
    );
    const written = await writeNginxSite(site(nested));
    const problemsOf = async (http: string) =>
      (await findingsOn(await writeNginxSite(site(http)))).map(({ message }) => message);
    expect((await findingsOn(written)).map(({ message }) => message)).toEqual([
      expect.stringMatching(/: proxy_set_header X-Site .* add_header X-Outer 1; error_page 404 /),
    ]);
    const fastcgi = siteWith(all, '').replace('proxy_pass A', 'fastcgi_pass A');
    expect(await problemsOf(fastcgi)).toEqual([expect.stringMatching(/^2 lines .*: add_header /)]);
    const merged = siteWith(`${all} add_header_inherit merge;`, '');
    expect(await problemsOf(merged)).toEqual([expect.stringMatching(/^2 lines .*: proxy_set_/)]);
  });

  describe('with another auth_request', () => {
    const SSO = 'location = /sso { internal; return 401; }';

    test('a location has only one', async () => {
      const written = await writeNginxSite(site(siteWith(SSO, 'auth_request /sso;')));
      const args = ['-t', ...nginxArguments(written.file, written.folder)];
      const { stderr } = spawnSync(findProgram('nginx') ?? '', args, { encoding: 'utf8' });
      expect(stderr).toContain('"auth_request" directive is duplicate');
    });

    test('of the block server is not asked any more', async () => {
      await using nginx = await startNginxSite(site(siteWith(`auth_request /sso; ${SSO}`, '')));
      expect((await call(nginx.url, '/')).status).toBe(200);
      expect((await findingsOn(nginx)).map(({ rule }) => rule)).toEqual(['other-check-replaced']);
      expect((await findingsOn(nginx))[0]?.message).toMatch(
        /^auth_request \/sso \(.*nginx\.conf:9\) is/,
      );
    });

    test('in an inner server block, both are asked, as the quickstart shows', async () => {
      const sso =
        'location = /sso { internal; if ($http_cookie != "in") { return 401; } return 204; }';
      const servers = shown('auth_request /sso')
        .replace(
          'listen PORT;',
          'listen PORT; set_real_ip_from 127.0.0.1; real_ip_header X-Client;',
        )
        .replace('real_ip_header X-Real-IP;', `real_ip_header X-Real-IP; ${sso}`)
        .replace('APPLICATION;', 'APPLICATION; proxy_set_header X-Seen $remote_addr;');
      const http = `include headgate-http.conf;\n${shown('map $http_host')}\n${servers}`;
      const files = { 'hop.conf': shown('hop.conf') };
      await using nginx = await startNginxSite({ ...site(http), files });
      const stranger = await call(nginx.url, '/');
      expect(stranger.status).toBe(401);
      expect(stranger.headers['x-ratelimit-limit']).toMatch(/^\d+$/);
      const headers = { cookie: 'in', 'x-client': '203.0.113.9' };
      expect((await call(nginx.url, '/', { headers })).status).toBe(200);
      expect(application.seen.at(-1)?.headers['x-seen']).toBe('203.0.113.9');
      expect(await findingsOn(nginx)).toEqual([]);
    });
  });

  test('without the part for the server lets the application answer the checks', async () => {
    const http = siteWith('', '').replace(
      'include headgate-server.conf;',
      'location @headgate_reply {} location @headgate_refused {}',
    );
    await using nginx = await startNginxSite(site(http));
    expect((await call(nginx.url, '/')).headers['x-ratelimit-policy']).toBeUndefined();
    expect(application.seen.map(({ url }) => url)).toContain('/_headgate');
    expect((await findingsOn(nginx)).map(({ rule }) => rule)).toEqual(['server-part-missing']);
  });

  test('with the part around a location that has own lines, denies without a word', async () => {
    const inside = 'include headgate-location.conf;';
    const http = siteWith(inside, SITE_LINES.error_page).replace(`    ${inside}`, '');
    await using nginx = await startNginxSite(site(http));
    const denied = await lastOfSixLogins(nginx.url);
    expect([denied.status, denied.headers['retry-after']]).toEqual([403, undefined]);
    expect((await findingsOn(nginx)).map(({ rule }) => rule)).toEqual(['part-not-inherited']);
  });

  test('with a part of an older policy file lets the application see what was not counted', async () => {
    await using nginx = await startNginxSite(site(siteWith('', ''), WITHOUT_HEADERS));
    expect((await findingsOn(nginx, WITH_KEYS)).map(({ rule }) => rule)).toEqual(
      expect.arrayContaining(['header-not-passed', 'old-part']),
    );
  });

  test('adds headers of the site to denials from a file of the site', async () => {
    const http = siteWith('', '');
    const files = { 'headgate-answers.conf': SITE_LINES.add_header };
    await using nginx = await startNginxSite({ ...site(http), files });
    const denied = await lastOfSixLogins(nginx.url);
    expect(denied.status).toBe(429);
    expect(denied.headers).toMatchObject({
      'strict-transport-security': 'max-age=9',
      'retry-after': expect.stringMatching(/^\d+$/),
    });
  });

  test('with satisfy any lets in whom headgate allows', async () => {
    const closed = 'satisfy any; deny all;';
    await using nginx = await startNginxSite(site(siteWith(closed, '')));
    expect((await call(nginx.url, '/')).status).toBe(200);
    expect((await findingsOn(nginx)).map(({ rule }) => rule)).toEqual(['satisfied-by-headgate']);
    await using all = await startNginxSite(site(siteWith('deny all;', '')));
    expect((await call(all.url, '/')).status).toBe(403);
    expect(await findingsOn(all)).toEqual([]);
  });

  test('logs a request once, also with log_subrequest', async () => {
    const http = siteWith('log_subrequest on; access_log access.log;', '');
    await using nginx = await startNginxSite(site(http));
    for (const path of ['/first', '/second']) await call(nginx.url, path);
    const log = async () => readFileSync(join(nginx.folder, 'access.log'), 'utf8');
    const text = await eventually(log, (lines) => lines.includes('/second'));
    expect(text.trim().split('\n')).toHaveLength(2);
  });

  test('stores no answer of headgate with proxy_store', async () => {
    await using nginx = await startNginxSite(
      site(siteWith('proxy_store $document_root$request_uri; root .;', '')),
    );
    chmodSync(nginx.folder, 0o777);
    expect((await call(nginx.url, '/stored')).status).toBe(200);
    expect((await call(nginx.url, '/forbidden')).status).toBe(403);
    const isStored = (name: string) => existsSync(join(nginx.folder, name));
    expect(['stored', 'forbidden'].map(isStored)).toEqual([true, false]);
  });

  test('without the include in a location, that location stays unlimited', async () => {
    const http = siteWith('location /static/ { return 200 "a file"; }', '');
    await using nginx = await startNginxSite(site(http));
    expect((await call(nginx.url, '/static/a')).headers['x-ratelimit-limit']).toBeUndefined();
  });
});
