/** What headgate doctor says of an NGINX is what the real one does, and what it advises works. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { examineProxyFile } from '../../src/cli/proxy-files/read/examine-files.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { startNginxSite, type WrittenSite } from '../support/nginx-site.ts';
import { freePort } from '../support/ports.ts';
import { validFile } from '../support/proxy-config.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { shown } from './support/nginx-quickstart.ts';

const policies = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [2/1h] }
  - { name: refused, match: { path: /refused }, limits: [1/1h] }
`;
const PART = 'include headgate-location.conf;';

let gateway: Gateway;
let application: Upstream;
beforeAll(async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'headgate-nginx-doctor-')), 'policies.yaml');
  writeFileSync(file, policies);
  gateway = await startGateway({ HEADGATE_POLICIES: file });
  application = await startUpstream();
});
afterAll(async () => {
  await gateway.stop();
  await application[Symbol.asyncDispose]();
});

function start(server: string, beside = '') {
  const http = `include headgate-http.conf; ${shown('map $http_host')} server { listen PORT;\n${server}\n} ${beside}`;
  const files = { 'hop.conf': shown('hop.conf') };
  const ports = { headgate: gateway.port, application: application.port };
  return startNginxSite({ policies, http, files, ...ports });
}

async function idsOn({ file }: WrittenSite, rules = policies): Promise<string[]> {
  const settings = readEnvironment({ HEADGATE_PORT: String(gateway.port) });
  const read = { file, path: file, text: readFileSync(file, 'utf8'), settings };
  const isAccepted = async () => undefined;
  const findings = await examineProxyFile({ ...read, policies: validFile(rules), isAccepted });
  return findings.filter(({ severity }) => severity !== 'fine').map(({ rule }) => rule);
}

const statusOf = async (url: string, path: string, method = 'GET') =>
  (await call(url, path, { method })).status;

/** Of four requests. */
async function statusesOf(url: string, path: string, method?: string): Promise<number[]> {
  const all: number[] = [];
  for (let n = 0; n < 4; n++) all.push(await statusOf(url, path, method));
  return all;
}

describe.skipIf(inject('programs').nginx === undefined)(
  'headgate doctor and the real NGINX',
  () => {
    const site = `include headgate-server.conf; location / { ${PART} proxy_pass APPLICATION; }`;

    test('a rewrite avoids a policy', async () => {
      await using nginx = await start(`${site} location /old/ { rewrite ^/old/(.*) /login last; }`);
      expect(await statusesOf(nginx.url, '/old/x', 'POST')).toEqual([200, 200, 200, 200]);
      expect(application.seen.at(-1)?.url).toBe('/login');
      expect(await idsOn(nginx)).toEqual(['path-rewritten']);
      const second = '  - { name: old, match: { path: "/old/*" }, limits: [2/1h] }\n';
      expect(await idsOn(nginx, policies + second)).toEqual([]);
    });

    test('a path in proxy_pass avoids a policy', async () => {
      const app = `location /app/ { ${PART} proxy_pass APPLICATION/; }`;
      await using nginx = await start(`${site} ${app}`);
      expect(await statusesOf(nginx.url, '/app/login', 'POST')).toEqual([200, 200, 200, 200]);
      expect(application.seen.at(-1)?.url).toBe('/login');
      expect(await idsOn(nginx)).toEqual(['path-rewritten']);
    });

    test('a rewrite behind a server that asks avoids a policy', async () => {
      const outer = `include headgate-server.conf; location / { ${PART} include hop.conf; proxy_pass http://unix:/run/site.sock; }`;
      const rewritten = `listen unix:/run/rewritten.sock; set_real_ip_from unix:; real_ip_header X-Real-IP; ${outer} location /old/ { include hop.conf; proxy_pass http://unix:/run/rewritten.sock:/; }`;
      const inner = (lines: string) =>
        `server { listen unix:/run/site.sock; set_real_ip_from unix:; real_ip_header X-Real-IP; ${lines} location / { proxy_pass APPLICATION; } }`;
      const old = 'location /old/ { rewrite ^/old/(.*) /$1 last; }';
      await using nginx = await start(outer, inner(old));
      expect(await statusesOf(nginx.url, '/old/login', 'POST')).toEqual([200, 200, 200, 200]);
      expect(application.seen.at(-1)?.url).toBe('/login');
      expect(await idsOn(nginx)).toEqual(['path-rewritten']);
      await using advised = await start(rewritten, inner(''));
      expect(await statusOf(advised.url, '/old/refused')).toBe(200);
      expect(await statusOf(advised.url, '/refused')).toBe(429);
      expect(await idsOn(advised)).toEqual([]);
    });

    test('another server leads to the application without a check', async () => {
      const port = await freePort();
      const other = `server { listen 127.0.0.1:${port}; location / { proxy_pass http://app/; } }
      upstream app { server localhost:${application.port}; }`;
      await using nginx = await start(site, other);
      const url = `http://127.0.0.1:${port}`;
      expect(await statusesOf(url, '/login', 'POST')).toEqual([200, 200, 200, 200]);
      expect(await idsOn(nginx)).toEqual(['upstream-unchecked']);
    });

    test('a rewrite of the server above its part catches the check', async () => {
      const slash = 'rewrite ^([^.]*[^/])$ $1/ permanent;';
      await using caught = await start(`${slash} ${site}`);
      expect(await statusOf(caught.url, '/page/')).toBe(500);
      expect(await idsOn(caught)).toEqual(['check-rewritten']);
      await using right = await start(site.replace('conf;', `conf; ${slash}`));
      expect(await statusOf(right.url, '/page/')).toBe(200);
      expect(await idsOn(right)).toEqual([]);
    });

    test('a page of the site for 403 takes the place of denials, and works as advised', async () => {
      const sorry = 'location = /sorry { internal; return 403 "the page of the site"; }';
      const own = 'if ($request_uri = /own) { return 403; } proxy_pass APPLICATION;';
      const page = 'error_page 403 /sorry;';
      const here = `include headgate-server.conf; ${sorry} location /`;
      await using taken = await start(`${here} { ${page} ${PART} ${own} }`);
      await statusOf(taken.url, '/refused');
      const lost = await call(taken.url, '/refused');
      expect([lost.status, lost.body]).toEqual([403, 'the page of the site']);
      expect(await idsOn(taken)).toEqual(['denial-becomes-page']);

      await using advised = await start(
        `${page} ${here} { recursive_error_pages on; ${PART} ${own} }`,
      );
      const denial = await call(advised.url, '/refused');
      expect([denial.status, denial.headers['retry-after']]).toEqual([
        429,
        expect.stringMatching(/^\d+$/),
      ]);
      expect((await call(advised.url, '/own')).body).toBe('the page of the site');
      expect(await idsOn(advised)).toEqual([]);
    });
  },
);
