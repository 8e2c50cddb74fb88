/** The way out for rewrites that the quickstart of NGINX shows. */
import { describe, expect, inject, test } from 'vitest';
import { throughFindings } from '../../src/cli/doctor/through/client-view.ts';
import { expectDenials, expectSameSite, get, startSites } from './support/compared-nginx.ts';
import { shown } from './support/nginx-quickstart.ts';
import { visitSite } from './support/site-comparison.ts';
import { siteRequests } from './support/site-requests.ts';

const HTTP = `include headgate-http.conf;\n${shown('map $http_host')}`;
const files = { 'hop.conf': shown('hop.conf') };

const HEADERS = `
  proxy_set_header Host $http_host;
  proxy_set_header X-Real-IP $remote_addr;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  proxy_set_header X-Forwarded-Proto $scheme;`;
const REWRITING = `${HTTP}\n${shown('location = /signin {')
  .replace(
    'include headgate-server.conf;',
    'include headgate-server.conf; root .; add_header X-Site-Path $request_uri always;',
  )
  .replace(
    'proxy_pass APPLICATION;',
    `add_header X-Site-Path $request_uri always; ${HEADERS} proxy_pass APPLICATION;`,
  )}`;
/** The site as it was before the rewrites of the page took their new form. */
const REWRITTEN = `
server {
  listen PORT;
  ${HEADERS}
  location /old/ { rewrite ^/old/(.*) /$1 last; }
  location = /signin { rewrite ^ /api/auth/login last; }
  location / { proxy_pass APPLICATION; }
}`;

describe.skipIf(inject('programs').nginx === undefined)('NGINX', () => {
  test('passes the rewritten paths of the quickstart to itself, as a rewrite did', async () => {
    const paths = [
      '/old/thing?a=1',
      '/old/a%20b%25',
      '/old//a/../b',
      '/signin?next=%2F',
      '/signin',
      '/old/',
    ];
    const requests = [
      ...siteRequests(),
      ...siteRequests('/old'),
      ...paths.map((path) => get(path)),
    ];
    const http = REWRITING.replaceAll('add_header X-Site-Path $request_uri always;', '');
    await expectSameSite(http, requests, { plain: REWRITTEN, files });
  });

  test('counts a path and its rewritten one together, whatever address a client invents', async () => {
    await using sites = await startSites(REWRITING.replaceAll('/api/auth/login', '/denied/login'), {
      plain: REWRITTEN,
      files,
    });
    const paths = ['/denied/login', '/old/denied/login', '/signin'];
    await expectDenials(
      sites,
      paths.flatMap((path) => [
        get(path),
        get(path, 'X-Real-IP: 192.0.2.1', 'X-Forwarded-For: 192.0.2.2'),
      ]),
    );
  });

  test('adds a header of the server once after a rewrite', async () => {
    await using sites = await startSites(REWRITING, { plain: REWRITTEN, files });
    const { answer } = await visitSite(sites.guarded, get('/old/thing'));
    expect(answer.headers.filter((each) => each.startsWith('x-site-path'))).toEqual([
      'x-site-path: /thing',
    ]);
  });

  test.each(['/page', '/old/page', '/signin'])(
    'has no findings of headgate doctor --through at %s',
    async (path) => {
      await using sites = await startSites(REWRITING, { plain: REWRITTEN, files });
      const target = { url: new URL(path, sites.guarded.url) };
      const ids: string[] = [];
      for await (const { rule } of throughFindings({ target, now: Date.now })) ids.push(rule);
      expect(ids).toEqual(['through']);
    },
  );
});
