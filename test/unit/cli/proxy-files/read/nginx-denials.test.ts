/** What headgate doctor finds between the answers of headgate and those of a site. */
import { describe, expect, test } from 'vitest';
import { findingsIn, idsIn } from '../../../../support/nginx-findings.ts';

const policies = `
version: 1
identity: { sources: [ip] }
default: { limits: [100/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [5/1min] }
`;

/** The location starts at line 4. */
const site = (server: string, location: string, pass = 'proxy_pass http://127.0.0.1:3000;') =>
  `server {
include headgate-server.conf;
${server}
location / { ${location} ${pass} }
}`;
const PART = 'include headgate-location.conf;';
const ids = (server: string, location: string, pass?: string) =>
  idsIn({ policies, http: site(server, location, pass) });
const oldIds = (server: string, location: string, pass?: string) =>
  idsIn({ policies, http: site(server, location, pass), hasOldParts: true });

describe('a page of the site for 403', () => {
  test.each(['error_page 403 /sorry.html;', 'error_page 401 403 404 =404 /sorry.html;'])(
    'above the part takes the place of denials: %s',
    async (page) => {
      const [finding] = await findingsIn({ policies, http: site('', `${page} ${PART}`) });
      expect(finding).toMatchObject({
        rule: 'denial-becomes-page',
        severity: 'error',
        file: '4',
        message: 'error_page 403 stands above that of headgate, so denied clients get /sorry.html',
      });
    },
  );

  test('above a part in the server block does the same', async () => {
    expect(await ids(`error_page 403 /sorry.html; ${PART}`, '')).toEqual(['3 denial-becomes-page']);
  });

  test('for other statuses is harmless above the part', async () => {
    expect(await ids('', `error_page 401 404 /sorry.html; ${PART}`)).toEqual([]);
  });

  test('is not used below the part, or in a block around it', async () => {
    expect(await ids('', `${PART} error_page 403 /sorry.html;`)).toEqual(['4 own-403-page-unused']);
    expect(await ids('error_page 403 /sorry.html;', PART)).toEqual(['4 own-403-page-unused']);
  });

  test('is used in a block around it if error pages are recursive', async () => {
    const around = 'error_page 403 /sorry.html;';
    expect(await ids(around, `recursive_error_pages on; ${PART}`)).toEqual([]);
    expect(await ids(`recursive_error_pages on; ${around}`, PART)).toEqual([]);
  });

  test('is never advised for a location, and every other status of the line is', async () => {
    const found = await findingsIn({
      policies,
      http: site('error_page 401 403 404 =404 /sorry.html;', PART),
    });
    expect(found.map(({ rule }) => rule)).toEqual(['lines-not-inherited', 'own-403-page-unused']);
    expect(found[0]?.message).toMatch(
      /^1 line \(.*:4\) does not apply in this location: error_page 401 404 =404 \/sorry.html;$/,
    );
    expect(found[0]?.remedy).toMatch(/below the `include`/);
    const followed = `recursive_error_pages on; ${PART} error_page 401 /sorry.html;`;
    expect(await ids('error_page 401 403 /sorry.html;', followed)).toEqual([]);
  });
});

describe('intercepted errors', () => {
  test.each([
    ['proxy', 'proxy_pass http://127.0.0.1:3000;'],
    ['fastcgi', 'fastcgi_pass 127.0.0.1:9000;'],
    ['uwsgi', 'uwsgi_pass 127.0.0.1:9000;'],
    ['scgi', 'scgi_pass 127.0.0.1:9000;'],
    ['grpc', 'grpc_pass grpc://127.0.0.1:9000;'],
  ])('of %s lose the body of a 403, in the location and around it', async (kind, pass) => {
    const line = `${kind}_intercept_errors on;`;
    const lost = ['4 own-403-body-lost'];
    expect(await ids('', `${line} ${PART}`, pass)).toEqual(lost);
    expect(await ids(line, PART, pass)).toEqual(lost);
    expect(await ids(line, `${kind}_intercept_errors off; ${PART}`, pass)).toEqual([]);
    expect(await oldIds(line, PART, pass)).toEqual(['4 own-refusal-replaced']);
  });

  test('of another kind, or with a page of the site, are harmless', async () => {
    expect(await ids('fastcgi_intercept_errors on;', PART)).toEqual([]);
    const page = 'proxy_intercept_errors on; recursive_error_pages on; error_page 403 /sorry.html;';
    expect(await ids(page, PART)).toEqual([]);
  });

  test('of a location that the checked one leads to are harmless', async () => {
    const named = 'location @site { proxy_intercept_errors on; proxy_pass http://127.0.0.1:3000; }';
    expect(await ids(named, `${PART} try_files /none @site;`, '')).toEqual([]);
  });
});

describe('refusals of the site with a part of 0.2', () => {
  test.each([
    'auth_basic "a site";',
    'auth_jwt "a site";',
    'deny 192.0.2.1;',
    'return 401;',
    'if ($http_referer ~ evil) { return 403; }',
    'limit_except GET { deny all; }',
  ])('%s', async (line) => {
    expect(await oldIds('', `${PART} ${line}`)).toEqual(['4 own-refusal-replaced']);
    expect(await ids('', `${PART} ${line}`)).toEqual([]);
  });

  test('that a location inherits, and those that it switches off', async () => {
    expect(await oldIds('auth_basic "a site";', PART)).toEqual(['4 own-refusal-replaced']);
    expect(await oldIds('auth_basic "a site";', `${PART} auth_basic off;`)).toEqual([]);
    expect(await oldIds('', PART)).toEqual([]);
  });
});

describe('lines of a server that its locations do not inherit', () => {
  const lines = `add_header X-Site "it's; {here}" always; error_page 404 /none.html; error_page 403 500 502 /sorry.html;`;
  const copied = `add_header X-Site "it's; {here}" always; error_page 404 /none.html; error_page 500 502 /sorry.html;`;
  const three = ['/', '/a/', '/b/'].map(
    (path) => `location ${path} { ${PART} proxy_pass http://127.0.0.1:3000; }`,
  );
  const findings = (locations: readonly string[]) =>
    findingsIn({
      policies,
      http: `server { include headgate-server.conf; ${lines}\n${locations.join('\n')}\n}`,
    });

  test('are one finding for all locations, with the lines to copy', async () => {
    const found = await findings(three);
    expect(found.map(({ rule, file }) => `${file} ${rule}`)).toEqual([
      '2 lines-not-inherited',
      '2 own-403-page-unused',
    ]);
    expect(found[0]?.message).toBe(
      `also at /etc/nginx/nginx.conf:4, /etc/nginx/nginx.conf:5: 3 lines (/etc/nginx/nginx.conf:2) do not apply in this location: ${copied}`,
    );
    const followed = three.map((each) =>
      each.replace(PART, `${PART} recursive_error_pages on; ${copied}`),
    );
    expect(await findings(followed)).toEqual([]);
  });

  test.each([
    String.raw`"it's \"quoted\""`,
    String.raw`'say "it\'s"'`,
    '"max-age=1; preload"',
    'plain-$host',
    '""',
  ])('are copied as they are: %s', async (value) => {
    const http = site(`add_header X-Site ${value};`, PART);
    const [finding] = await findingsIn({ policies, http });
    expect(finding?.message).toContain(`: add_header X-Site ${value};`);
  });

  test.each([
    ['on', true],
    ['off', true],
    ['merge', false],
  ])('are headers with add_header_inherit %s: %s', async (how, isLost) => {
    const expected = isLost ? ['4 lines-not-inherited'] : [];
    const header = 'add_header X-Site 1;';
    expect(await ids(`add_header_inherit ${how}; ${header}`, PART)).toEqual(expected);
    expect(await ids(header, `add_header_inherit ${how}; ${PART}`)).toEqual(expected);
    // The nearest one decides, and it is about headers alone.
    expect(
      await ids(`add_header_inherit merge; ${header}`, `add_header_inherit ${how}; ${PART}`),
    ).toEqual(expected);
    expect(await ids('error_page 404 /none.html;', `add_header_inherit ${how}; ${PART}`)).toEqual([
      '4 lines-not-inherited',
    ]);
  });

  test('are none where NGINX only leads on to a location with a name', async () => {
    const named = 'location @site { proxy_pass http://127.0.0.1:3000; }';
    const leading = (more = '') => [
      `location / { ${PART} ${more} try_files /headgate-none @site; }`,
      named,
    ];
    expect(await findings(leading())).toEqual([]);
    for (const answering of ['deny 192.0.2.1;', 'auth_basic site;', 'limit_req zone=one;'])
      expect((await findings(leading(answering))).map(({ rule }) => rule)).toContain(
        'lines-not-inherited',
      );
    expect(await findings([`location / { ${PART} try_files $uri @site; }`, named])).toHaveLength(2);
  });
});

describe('headers for the application, with a part that has some', () => {
  const withKeys = policies.replace('[ip]', '[api_key, ip]');
  const idsWith = (server: string, pass?: string) =>
    idsIn({ policies: withKeys, http: site(server, PART, pass) });

  test.each(['Host $host', 'X-Forwarded-For $remote_addr', 'X-Real-IP $remote_addr'])(
    'without %s is an error',
    async (header) => {
      const lost = ['4 proxy-headers-not-inherited'];
      expect(await idsWith(`proxy_set_header ${header};`)).toEqual(lost);
      expect(await idsWith(`proxy_set_header X-Site 1; proxy_set_header ${header};`)).toEqual(lost);
    },
  );

  test('without another one is a warning, and without a pass over HTTP nothing', async () => {
    for (const line of ['X-Site 1', 'Connection ""'])
      expect(await idsWith(`proxy_set_header ${line};`)).toEqual(['4 lines-not-inherited']);
    expect(await idsWith('proxy_set_header Host 1;', 'root /srv;')).toEqual([]);
  });
});

describe('an if block in a location with the part', () => {
  test('hides the lines of the part by own ones', async () => {
    const block = 'if ($http_origin) { add_header Access-Control-Allow-Origin *; }';
    expect(await ids('', `${PART} ${block}`)).toEqual(['4 part-not-inherited']);
  });

  test('that answers itself is no place for the part', async () => {
    const block = 'if ($request_method = OPTIONS) { add_header Allow GET; return 204; }';
    expect(await ids('', `${PART} ${block}`)).toEqual([]);
  });
});

describe('another auth_request', () => {
  test.each([
    ['around the part', 'auth_request /sso;', PART, /^auth_request \/sso \(.*:4\) is not asked/],
    ['above the part', '', `auth_request /sso; ${PART}`, /stands beside that of headgate/],
    ['below the part', '', `${PART} auth_request /sso;`, /stands beside that of headgate/],
    ['inside of the part', PART, 'auth_request /sso;', /takes the place of that of headgate/],
  ])('%s is an error', async (_, server, location, message) => {
    const found = await findingsIn({ policies, http: site(server, location) });
    const replaced = found.filter(({ rule }) => rule === 'other-check-replaced');
    expect(replaced).toMatchObject([{ file: '4', severity: 'error' }]);
    expect(replaced[0]?.message).toMatch(message);
  });

  test('that is switched off, or for another location, is none', async () => {
    expect(await ids('', `auth_request off; location /in/ { ${PART} }`)).toEqual([
      '4 limited-path-unchecked',
    ]);
    const sso = 'location /sso/ { auth_request /sso; root /srv; }';
    expect(await ids(sso, PART)).toEqual([]);
  });
});

describe('an error page that leads into a checked location', () => {
  const named = `location @app { ${PART} proxy_pass http://127.0.0.1:3000; }`;
  test.each([
    'location /files/ { error_page 404 = @app; root /srv; }',
    'error_page 404 = @app; location /files/ { root /srv; }',
    'location /files/ { error_page 403 404 /missing; root /srv; }',
  ])('gives a denied client a plain 403: %s', async (lines) => {
    const found = await findingsIn({ policies, http: site(`${named} ${lines}`, PART) });
    const warnings = found.filter(({ rule }) => rule === 'denial-on-error-page');
    expect(warnings).toMatchObject([{ severity: 'warning', file: '3' }]);
  });

  test.each([
    'location /files/ { recursive_error_pages on; error_page 404 = @app; root /srv; }',
    'location /files/ { try_files $uri @app; root /srv; }',
    'location /files/ { error_page 404 /404.html; root /srv; } location = /404.html { root /srv; }',
    'location /files/ { error_page 502 = @app; root /srv; }',
  ])('does not: %s', async (lines) => {
    expect(await ids(`${named} ${lines}`, PART)).toEqual([]);
  });
});

test('a server that inherits the check and has no part is an error', async () => {
  const server = 'location / { proxy_pass http://127.0.0.1:3000; }';
  const http = `${PART} server { include headgate-server.conf; ${server} }\nserver { ${server} }`;
  expect(await idsIn({ policies, http })).toEqual(['2 server-part-missing']);
});

test('a part for the location that is newer than that of the server is an error', async () => {
  const http = site('', PART).replace(
    'include headgate-server.conf;',
    'location = /_headgate { proxy_pass http://headgate/nginx; error_page 429 = @x; error_page 502 = @x; proxy_intercept_errors on; }',
  );
  const found = await findingsIn({ policies, http });
  expect(found.find(({ rule }) => rule === 'server-part-missing')?.message).toMatch(
    /^needs @headgate_passed/,
  );
});
