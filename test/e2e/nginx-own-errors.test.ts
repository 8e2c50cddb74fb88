/** A site's own 401 and 403 behind NGINX with the parts of headgate, and the ways out that the quickstart shows. */
import { readFileSync } from 'node:fs';
import { describe, expect, inject, test } from 'vitest';
import {
  CHECK,
  expectDenials,
  expectSameSite,
  get,
  PASS,
  siteWith,
  startSites,
  WITH_PASSWORD,
} from '../support/compared-nginx.ts';
import { blocksOf } from '../support/page.ts';
import { visitSite } from '../support/site-comparison.ts';
import { siteRequest } from '../support/site-requests.ts';

const PAGE = readFileSync(new URL('../../docs/quickstart/nginx.md', import.meta.url), 'utf8');
const INTERCEPTS = 'proxy_intercept_errors on;';
const status = (code: number) => get(`/status-${code}`, WITH_PASSWORD);
const CODES = [200, 400, 401, 404, 429, 500, 503].map(status);
const REQUESTS = [
  ...CODES,
  siteRequest('POST /status-401', { body: 'user=a', headers: [WITH_PASSWORD] }),
  siteRequest('HEAD /status-401', { headers: [WITH_PASSWORD] }),
  get('/status-401'),
  get('/none.html'),
];

/** The block of the quickstart with this line, on free ports. */
function shown(line: string): string {
  const block = blocksOf(PAGE).find(
    (each) => each.language === 'nginx' && each.text.includes(line),
  );
  const text = block?.text ?? '';
  expect(text).toContain(line);
  return text
    .replace('listen 80;', 'listen PORT;')
    .replaceAll('http://127.0.0.1:3000', 'APPLICATION')
    .replaceAll('127.0.0.1:8002', 'INNER');
}

describe.skipIf(inject('programs').nginx === undefined)('NGINX', () => {
  test.each([
    ['location', siteWith('').replace('location / {', `location / { ${INTERCEPTS}`)],
    ['server', siteWith(INTERCEPTS)],
    ['http', siteWith('', INTERCEPTS)],
  ])("that intercepts errors in the block %s keeps the application's 401", async (_, http) => {
    await expectSameSite(http, REQUESTS);
  });

  test.each([
    ['of the application', siteWith(INTERCEPTS)],
    ['of auth_basic', siteWith('auth_basic site; auth_basic_user_file passwords;')],
    ['of return', siteWith('location = /none.html { CHECK return 401; }')],
  ])('shows the page of the site for a 401 %s', async (_, http) => {
    const page = 'error_page 401 404 /sorry.html;';
    await expectSameSite(
      http
        .replaceAll('{ CHECK', `{ ${CHECK}`)
        .replace('root .;', `root .; ${page}`)
        .replaceAll(CHECK, `${CHECK} ${page}`),
      REQUESTS,
    );
  });

  test.each([
    ['of the application', siteWith(INTERCEPTS)],
    ['of deny', siteWith('location /status-403 { deny all; CHECK proxy_pass APPLICATION; }')],
    ['of return', siteWith('location /status-403 { CHECK return 403; }')],
    [
      'of a method',
      siteWith(
        'location /status-403 { limit_except PUT { deny all; } CHECK proxy_pass APPLICATION; }',
      ),
    ],
    ['of a folder', siteWith('location /status-403/ { CHECK alias ./; }')],
  ])('shows the page of the site for a 403 %s', async (_, http) => {
    const page = 'error_page 403 =418 /sorry.html;';
    const site = http.replaceAll('CHECK', CHECK).replace('root .;', `root .; ${page}`);
    await expectSameSite(site.replaceAll(CHECK, `${CHECK} recursive_error_pages on;`), [
      ...REQUESTS,
      status(403),
      get('/status-403/'),
    ]);
  });

  test('keeps the status of a 403 that it intercepts for no page', async () => {
    await using sites = await startSites(siteWith(INTERCEPTS));
    const [difference, ...others] = await sites.differences([status(403), ...REQUESTS]);
    expect(others).toEqual([]);
    expect(difference?.with.answer).toMatchObject({
      status: '403',
      body: expect.stringContaining('403 Forbidden'),
    });
    expect(difference?.with.received).toEqual(difference?.without.received);
  });

  test('that intercepts errors keeps all of them in a location of its own, as the quickstart shows', async () => {
    const own = shown('location @site {');
    const http = siteWith('').replace(`location / { ${PASS} }`, own);
    await expectSameSite(http.replaceAll('/404.html', '/sorry.html'), [...REQUESTS, status(403)]);
  });

  test.each([['recursive_error_pages on; error_page 404 405 = @app;'], ['try_files $uri @app;']])(
    'denies what another location passes on with %s',
    async (passes) => {
      const http = siteWith('').replace(
        `location / { ${PASS} }`,
        `location / { ${passes} } location @app { ${PASS} }`,
      );
      await expectSameSite(http, [...CODES, get('/style.css')]);
    },
  );

  test('answers a request that headgate cannot read with a 403', async () => {
    await using sites = await startSites(siteWith(''));
    const { head, ...request } = get('/x');
    const odd = { ...request, head: head.replace('Host: HOST', 'Host: caf\xe9.example') };
    const { answer } = await visitSite(sites.guarded, odd);
    expect(answer).toMatchObject({ status: '403', body: expect.stringContaining('403 Forbidden') });
    expect(answer.headers).toContain('content-type: text/html');
  });

  test('checks the new path after a rewrite, as the quickstart shows', async () => {
    const http = `include headgate-http.conf;\n${shown('location /old/ {')}`;
    await using sites = await startSites(http);
    const { received } = await visitSite(sites.guarded, get('/old/thing?a=1'));
    expect(received.map((each) => each.split('\n')[0])).toEqual(['GET /thing?a=1']);
    await expectDenials(sites, [get('/denied/x.css'), get('/old/denied/x.css')]);
  });
});
