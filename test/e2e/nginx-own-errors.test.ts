/** A site's own 401 and 403 behind NGINX with the parts of headgate, and the ways out that the quickstart shows. */
import { describe, expect, inject, test } from 'vitest';
import {
  CHECK,
  expectSameSite,
  get,
  PASS,
  siteWith,
  startSites,
  WITH_PASSWORD,
} from './support/compared-nginx.ts';
import { shown } from './support/nginx-quickstart.ts';
import { visitSite } from './support/site-comparison.ts';
import { siteRequest, siteRequests } from './support/site-requests.ts';

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

  test('gives a location whose proxy_pass has a path one of its own, as the quickstart shows', async () => {
    const before = 'location /own/ { CHECK proxy_pass APPLICATION/api/; }';
    const site = (lines: string) => siteWith(lines.replaceAll('CHECK', CHECK));
    const odd = ['/own/%3Fa=1', '/own/a%20b%25', '/own//a/../b', '/own/', '/own', '/own?a=1'];
    const requests = [
      ...siteRequests('/own'),
      ...[...odd, '/own/redirect-to-host'].map((each) => get(each)),
    ];
    const after = shown('location @own {').replace(
      'rewrite',
      'add_header X-Site-Path $site_path always; rewrite',
    );
    await expectSameSite(site(after), requests, { plain: site(before) });
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
});
