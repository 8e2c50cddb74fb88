/** Where headgate doctor sees that an application gets another path than headgate checks. */
import { describe, expect, test } from 'vitest';
import { findingsIn, idsIn } from '../../../../support/nginx-findings.ts';

const policies = `
version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [5/5min] }
  - { name: api, match: { path: "/api/*" }, limits: [100/1min] }
  - { name: api-login, match: { path: /api/login }, limits: [5/1min] }
  - { name: wordpress, match: { path: /wp-login.php }, limits: [5/1min] }
  - { name: user, match: { path: "/users/:id" }, limits: [50/1min] }
  - { name: admin, match: { path: /admin/index.php }, limits: [50/1min] }
`;
const PART = 'include headgate-location.conf;';
const PASS = 'proxy_pass http://127.0.0.1:3000;';
const ALL = `location / { ${PART} ${PASS} }`;
const PHP = `location ~ \\.php$ { ${PART} try_files $uri =404; fastcgi_pass 127.0.0.1:9000; }`;

/** The policies that can be avoided; of one line at most. */
async function avoided(lines: string, rules = policies): Promise<string[]> {
  const map = 'map $uri $mapped { default ""; /x /login; }';
  const http = `${map} server { include headgate-server.conf;\n${lines}\n}`;
  const [finding, ...others] = (await findingsIn({ policies: rules, http })).filter(
    ({ rule }) => rule === 'path-rewritten',
  );
  expect(others).toEqual([]);
  return (
    / polic(?:y|ies) (.*) can be avoided$/.exec(finding?.message ?? '')?.[1]?.split(', ') ?? []
  );
}

test('names the line and the policy', async () => {
  const http = `server { include headgate-server.conf;\n${ALL}\nlocation /old/ { rewrite ^/old/(.*) /login last; } }`;
  expect(await findingsIn({ policies, http })).toMatchObject([
    {
      rule: 'path-rewritten',
      severity: 'warning',
      file: '3',
      message:
        'rewrite ^/old/(.*) /login last changes the path after headgate has checked it, so policy login can be avoided',
    },
  ]);
});

test('a list of paths can be avoided at each, and is for those that it names', async () => {
  const listed = policies
    .replace('path: /login }', 'path: [/login, /sign-in] }')
    .replace('path: "/api/*" }', 'path: ["/api/*", /join] }');
  const to = (path: string) => avoided(`location /old/ { rewrite ^ ${path} last; } ${ALL}`, listed);
  expect(await to('/sign-in')).toEqual(['login']);
  expect(await to('/join')).toEqual(['api']);
  // Somebody wrote /join for what clients send, and /api/* for anything.
  expect(await avoided(`rewrite ^/join$ /login last; ${ALL}`, listed)).toEqual([]);
  expect(await avoided(`rewrite ^/api/join$ /login last; ${ALL}`, listed)).toEqual(['login']);
});

describe('a rewrite', () => {
  test.each([
    ['of a location', `location /old/ { rewrite ^ /login last; } ${ALL}`, 'login'],
    ['without a flag', `location /old/ { rewrite ^/old/ /login; } ${ALL}`, 'login'],
    ['of the server', `rewrite ^/sign-in$ /login last; ${ALL}`, 'login'],
    ['with a query', `rewrite ^/sign-in$ /login?from=old last; ${ALL}`, 'login'],
    ['in an if block', `if ($arg_old) { rewrite ^ /login last; } ${ALL}`, 'login'],
    ['of an ending', `rewrite ^/(.+)\\.html$ /$1 last; ${ALL}`, 'login, wordpress'],
    ['to what an expression found', `rewrite ^/v1/(.*)$ /api/$1 break; ${ALL}`, 'api, api-login'],
    ['to a name', `rewrite "^/[a-z]{2}/(?<rest>.*)$" /$rest last; ${ALL}`, 'login, user'],
    ['to the value of a variable', `set $to /login; rewrite ^/x $to last; ${ALL}`, 'login'],
    ['to the value of a map', `rewrite ^/x $mapped last; ${ALL}`, 'login'],
    ['of a part that may be missing', `rewrite ^(/[^/]+)?(/wp-.*) $2 last; ${PHP}`, 'wordpress'],
    ['of a path without regard to case', `rewrite (?i)^/LOGIN2$ /login last; ${ALL}`, 'login'],
    [
      'that breaks',
      `location /v2/ { ${PART} rewrite ^/v2(/.*)$ $1 break; ${PASS} } ${ALL}`,
      'login, user, admin',
    ],
    [
      'of a named location',
      `location / { ${PART} try_files $uri @x; } location @x { rewrite ^(.*)$ $1.php last; } ${PHP}`,
      'wordpress, admin',
    ],
  ])('%s', async (_, lines, names) => {
    expect(await avoided(lines)).toEqual(expect.arrayContaining(names.split(', ')));
  });

  test.each([
    ['to the same path', `rewrite ^(.*)$ $1?x=1 last; ${ALL}`],
    ['of a slash at the end', `rewrite ^/(.*)/$ /$1 last; ${ALL}`],
    [
      'that redirects',
      `rewrite ^/old$ /login permanent; rewrite ^/x https://x.example/login; ${ALL}`,
    ],
    ['to a path without a policy', `rewrite ^ /index.php last; ${ALL}`],
    ['to files', `location /old/ { rewrite ^ /login last; } location /login { root /srv; } ${ALL}`],
    ['that no request reaches', `location = /a { rewrite ^/old$ /login last; } ${ALL}`],
    ['of a path with the same limits', `rewrite ^/users/me$ /users/1 last; ${ALL}`],
    [
      'to another application',
      `location /shop/ { ${PART} rewrite ^/shop/(.*) /$1 break; proxy_pass http://127.0.0.1:4000; } ${ALL}`,
    ],
    ['to something unknown', `rewrite ^ $http_x last; ${ALL}`],
  ])('%s is harmless', async (_, lines) => {
    expect(await avoided(lines)).toEqual([]);
  });

  test('is harmless once the path of the client has a policy', async () => {
    const rule = '  - { name: old, match: { path: /sign-in }, limits: [9/1min] }\n';
    const lines = `rewrite ^/sign-in$ /login last; ${ALL}`;
    expect(await avoided(lines, policies + rule)).toEqual([]);
    expect(await avoided(lines, `${policies}${rule.replace('/sign-in', '/sign-out')}`)).toEqual([
      'login',
    ]);
    const wide = '  - { name: old, match: { path: "/sign-in/*" }, limits: [9/1min] }\n';
    expect(await avoided(lines, policies + wide)).toEqual(['login']);
  });
});

describe('a path in proxy_pass', () => {
  test.each([
    [
      'in place of a prefix',
      `location /app/ { ${PART} proxy_pass http://127.0.0.1:3000/; } ${ALL}`,
      'login',
    ],
    [
      'of another location',
      `location = /sign-in { ${PART} proxy_pass http://127.0.0.1:3000/login; } ${ALL}`,
      'login',
    ],
    [
      'by an expression',
      `location ~ ^/app/(.*)$ { ${PART} proxy_pass http://127.0.0.1:3000/$1; } ${ALL}`,
      'login',
    ],
    [
      'that only the application knows',
      `location /app/ { ${PART} proxy_pass http://127.0.0.1:3000/; }`,
      'login',
    ],
  ])('%s', async (_, lines, name) => {
    expect(await avoided(lines)).toContain(name);
  });

  test.each([
    [
      'that is the same',
      `location /api/ { ${PART} proxy_pass http://127.0.0.1:3000/api/; } ${ALL}`,
    ],
    [
      'of another application',
      `location /shop/ { ${PART} proxy_pass http://127.0.0.1:4000/; } ${ALL}`,
    ],
    [
      'of the client',
      `location /x/ { ${PART} proxy_pass http://127.0.0.1:3000$request_uri; } ${ALL}`,
    ],
  ])('%s is harmless', async (_, lines) => {
    expect(await avoided(lines)).toEqual([]);
  });
});

describe('other lines', () => {
  test.each([
    ['try_files', `location / { ${PART} try_files $uri /wp-login.php; } ${PHP}`, 'wordpress'],
    [
      'try_files with the path',
      `location / { ${PART} try_files $uri /api$uri; } location /api/ { ${PART} ${PASS} }`,
      'api',
    ],
    ['index', `index index.php; location / { ${PART} try_files $uri $uri/ =404; } ${PHP}`, 'admin'],
    ['error_page', `error_page 404 /wp-login.php; location / { root /srv; } ${PHP}`, 'wordpress'],
  ])('%s', async (_, lines, name) => {
    expect(await avoided(lines)).toContain(name);
  });

  test.each([
    [
      'a front controller',
      `index index.php; location / { ${PART} try_files $uri $uri/ /index.php?$args; } ${PHP}`.replace(
        'index index.php;',
        '',
      ),
    ],
    ['pages', `error_page 404 /404.html; error_page 500 502 /login; ${ALL}`],
    ['a page for a policy of POST', `error_page 404 /login; ${ALL}`],
    [
      'a single page',
      `location / { root /srv; try_files $uri /index.html; } location /api/ { ${PART} ${PASS} } location /login { ${PART} ${PASS} } location ~ ^/(users|admin|wp-) { ${PART} ${PASS} }`,
    ],
  ])('%s is harmless', async (_, lines) => {
    expect(await avoided(lines)).toEqual([]);
  });
});

test('many lines and policies end soon', async () => {
  const many = Array.from({ length: 300 }, (_, i) => `rewrite ^/(a+)${i}/(.*)/(.*)$ /api/$2 last;`);
  expect(
    await idsIn({
      policies,
      http: `server { include headgate-server.conf; ${many.join('\n')} ${ALL} }`,
    }),
  ).not.toEqual([]);
});

describe('a server behind one that asks headgate', () => {
  const outer = (pass: string, more = '') =>
    `server { listen 80; include headgate-server.conf; location / { ${PART} proxy_pass ${pass}; } ${more} }`;
  const inner = (listen: string, lines: string) =>
    `server { listen ${listen}; ${lines} location / { ${PASS} } }`;
  const OLD = 'location /old/ { rewrite ^/old/(.*) /$1 last; }';
  const ids = (servers: string, rules = policies) => idsIn({ policies: rules, http: servers });
  const REWRITTEN = ['2 path-rewritten'];

  test.each([
    ['http://unix:/run/site.sock', 'unix:/run/site.sock'],
    ['http://127.0.0.1:8001', '8001'],
    ['http://localhost:8001/', '127.0.0.1:8001'],
    ['https://unix:/run/site.sock', 'unix:/run/site.sock ssl'],
    ['http://site', '127.0.0.1:8001', 'upstream site { server localhost:8001; }'],
  ])('changes the path after the check at %s', async (pass, listen, more = '') => {
    const http = `${outer(pass)} ${more}\n${inner(listen, OLD)}`;
    expect(await ids(http)).toEqual(REWRITTEN);
    expect(await ids(`${outer(pass)} ${more}\n${inner(listen, '')}`)).toEqual([]);
  });

  test('is not meant if it asks headgate itself, or clients send other paths there', async () => {
    const pass = 'http://127.0.0.1:8001';
    const asking = `server { listen 8001; include headgate-server.conf; ${ALL} }`;
    expect(await ids(`${outer(pass)}\n${asking}`)).toEqual([]);
    expect(await ids(`${outer(pass)}\n${inner('8002', OLD)}`)).toEqual([]);
    const elsewhere = 'location /old/ { return 404; }';
    expect(await ids(`${outer(pass, elsewhere)}\n${inner('8001', OLD)}`)).toEqual([]);
  });

  test('is fine if the outer server checks the new path as well', async () => {
    const again = `listen unix:/run/rewritten.sock; location /old/ { proxy_pass http://unix:/run/rewritten.sock:/; }`;
    const http = `${outer('http://unix:/run/site.sock', again)}\n${inner('unix:/run/site.sock', '')}`;
    expect(await ids(http)).toEqual([]);
  });
});

test('the socket in a proxy_pass is no path', async () => {
  const rules = policies.replace('/users/:id', '/run/site.sock');
  const http = `server { include headgate-server.conf; location /app/ { ${PART} proxy_pass http://unix:/run/site.sock; } ${ALL.replace('http://127.0.0.1:3000', 'http://unix:/run/site.sock')} }`;
  expect(await idsIn({ policies: rules, http })).toEqual([]);
});
