/** Which ways to an application headgate doctor sees in an NGINX configuration. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { findingsIn, idsIn } from '../../../../support/nginx-findings.ts';
import { blocksOf } from '../../../../support/page.ts';

const policies = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [100/1h] }\n';
const CHECKED = 'location / { include headgate-location.conf; PASS }';

/** The checked server is line 1, what is tried line 2. `here`: how the checked location passes requests on. */
const ids = (other: string, here = 'proxy_pass http://127.0.0.1:3000;', beside = '') =>
  idsIn({
    policies,
    http: `server { listen 80; include headgate-server.conf; ${CHECKED.replace('PASS', here)} }\n${other}`,
    beside,
  });
const inServer = (lines: string) => `server { listen 81; ${lines} }`;
const UNCHECKED = ['2 upstream-unchecked'];

test('names both ways and the application', async () => {
  const http = `server { include headgate-server.conf; ${CHECKED.replace('PASS', 'proxy_pass http://app;')} }
server { location /all/ { proxy_pass http://127.0.0.1:3000; } }
upstream app { server localhost:3000; }`;
  const [finding] = await findingsIn({ policies, http });
  expect(finding).toMatchObject({ rule: 'upstream-unchecked', severity: 'warning', file: '2' });
  expect(finding?.message).toMatch(
    /^location \/all\/ passes requests to 127\.0\.0\.1:3000 without asking headgate; location \/ \(.*:2\) asks it for the same application$/,
  );
});

describe.each([
  ['an address', 'proxy_pass http://127.0.0.1:3000;'],
  ['an upstream', 'proxy_pass http://app;'],
  ['a variable', 'set $to app; proxy_pass http://$to;'],
])('a checked way by %s and another one by', (_, here) => {
  const APP = 'upstream app { server 127.0.0.1:3000; server 10.0.0.9:3000 backup; }';
  test.each([
    ['the address', 'proxy_pass http://127.0.0.1:3000;'],
    ['the address and a slash', 'proxy_pass http://127.0.0.1:3000/;'],
    ['another name', 'proxy_pass http://LocalHost:3000/x;'],
    ['the upstream', 'proxy_pass http://app/;'],
    ['another address of the upstream', 'proxy_pass http://10.0.0.9:3000;'],
    ['a variable', 'set $other "127.0.0.1:3000"; proxy_pass http://$other$request_uri;'],
    ['a map', 'proxy_pass http://$mapped;'],
    ['a variable of a variable', `set $a $mapped; proxy_pass $protocol://$\{a}/x;`],
    ['an if block', 'if ($arg_x) { proxy_pass http://app; }'],
    ['gRPC', 'grpc_pass grpc://127.0.0.1:3000;'],
  ])('%s', async (__, pass) => {
    const map = 'map $host $mapped { hostnames; default app; x.example 127.0.0.1:9; }';
    const other = inServer(`set $protocol http; location /x/ { ${pass} }`);
    expect(await ids(`${other} ${APP} ${map}`, here)).toEqual(UNCHECKED);
  });
});

test.each([
  ['fastcgi_pass 127.0.0.1:9000;', 'fastcgi_pass localhost:9000;'],
  ['fastcgi_pass unix:/run/php.sock;', 'fastcgi_pass php;'],
  ['uwsgi_pass unix:/run/app.sock;', 'uwsgi_pass unix:/run/app.sock;'],
  ['scgi_pass 127.0.0.1:4000;', 'scgi_pass 127.0.0.1:4000;'],
  ['grpc_pass 127.0.0.1:50051;', 'grpc_pass grpcs://127.0.0.1:50051;'],
  ['proxy_pass https://app.internal;', 'proxy_pass https://app.internal:443/x/;'],
  ['proxy_pass http://unix:/run/app.sock;', 'proxy_pass http://unix:/run/app.sock:/x/;'],
  ['proxy_pass http://$host:3000;', 'proxy_pass http://$host:3000;'],
])('%s and %s lead to one application', async (here, there) => {
  const php = 'upstream php { server unix:/run/php.sock; }';
  expect(await ids(`${inServer(`location ~ x { ${there} }`)} ${php}`, here)).toEqual(UNCHECKED);
});

test('a server of stream is a way', async () => {
  const stream = (to: string) => `stream { upstream tcp { server 127.0.0.1:3000; }
    server { listen 9000; proxy_pass ${to}; } }`;
  const found = async (to: string) =>
    (await ids('', undefined, stream(to))).map((id) => id.split(' ')[1]);
  expect(await found('127.0.0.1:3000')).toEqual(['upstream-unchecked']);
  expect(await found('tcp')).toEqual(['upstream-unchecked']);
  expect(await found('127.0.0.1:3001')).toEqual([]);
});

describe('files that try_files does not find', () => {
  const php = 'location ~ \\.php$ { fastcgi_pass unix:/run/php.sock; }';
  const front = 'try_files $uri $uri/ /index.php$is_args$args;';

  test('are a checked way to the location with the application', async () => {
    const http = (location: string) =>
      `server { include headgate-server.conf;\n${location}\nlocation / { include headgate-location.conf; ${front} } }`;
    expect(await idsIn({ policies, http: http(php) })).toEqual(['2 upstream-unchecked']);
    const checked = php.replace('{', '{ include headgate-location.conf;');
    expect(await idsIn({ policies, http: http(checked) })).toEqual([]);
  });

  test('are checked before NGINX goes to a named location', async () => {
    const named = 'location @app { proxy_pass http://127.0.0.1:3000; }';
    const http = (location: string) =>
      `server { include headgate-server.conf; ${named}\n${location} }`;
    const via = 'include headgate-location.conf; try_files $uri @app;';
    expect(await idsIn({ policies, http: http(`location / { ${via} }`) })).toEqual([]);
    const around = `location / { ${via} } location /x/ { try_files $uri @app; }`;
    expect(await idsIn({ policies, http: http(around) })).toEqual(['2 upstream-unchecked']);
  });

  test('are not checked after a return, which comes before the check', async () => {
    const http = `server { include headgate-server.conf;
location @app { proxy_pass http://127.0.0.1:3000; }
location /in/ { include headgate-location.conf; proxy_pass http://127.0.0.1:3000; }
location / { error_page 418 = @app; auth_request /_headgate; return 418; } }`;
    expect(await idsIn({ policies, http })).toContain('4 upstream-unchecked');
  });
});

describe('says nothing of', () => {
  test.each([
    ['another application', 'location / { proxy_pass http://127.0.0.1:3001; }'],
    ['an internal location', 'location / { internal; proxy_pass http://127.0.0.1:3000; }'],
    ['a location that nobody reaches', 'location @x { proxy_pass http://127.0.0.1:3000; }'],
    [
      'a server that answers itself',
      'return 301 https://x.example; location / { proxy_pass http://127.0.0.1:3000; }',
    ],
    ['a location for nobody', 'location / { deny all; proxy_pass http://127.0.0.1:3000; }'],
    ['one path', 'location = /health { proxy_pass http://127.0.0.1:3000; }'],
    ['folders of files', 'location /static/ { proxy_pass http://127.0.0.1:3000; }'],
    [
      'the service of an auth_request',
      'auth_request /who; location /who { proxy_pass http://127.0.0.1:3000/who; }',
    ],
    [
      'upstreams that Lua chooses',
      'location / { proxy_pass http://lua; }',
      'proxy_pass http://lua;',
    ],
  ])('%s', async (_, lines, here = undefined) => {
    const lua = 'upstream lua { server 0.0.0.1; balancer_by_lua_block { choose("{") } }';
    expect(await ids(`${inServer(lines)} ${lua}`, here)).toEqual([]);
  });

  test('a server that only a checked one reaches, or that checks by itself', async () => {
    const inner =
      'server { listen 127.0.0.1:8001; location / { proxy_pass http://127.0.0.1:3000; } }';
    const direct = inServer(
      'location / { include headgate-location.conf; proxy_pass http://127.0.0.1:3000; } include headgate-server.conf;',
    );
    expect(await ids(`${inner} ${direct}`, 'proxy_pass http://127.0.0.1:8001;')).toEqual([]);
    const outer = inServer('location /in/ { proxy_pass http://127.0.0.1:80; }');
    expect(
      await ids(
        `${outer} ${inServer('include headgate-server.conf; location / { include headgate-location.conf; proxy_pass http://127.0.0.1:80; }')}`,
      ),
    ).toEqual([]);
  });
});

test.each([
  ['files with another path', 'location /static/ { proxy_pass http://127.0.0.1:3000/; }'],
  ['one path that becomes another', 'location = /x { proxy_pass http://127.0.0.1:3000/login; }'],
  ['endings of files', 'location ~ \\.css$ { proxy_pass http://127.0.0.1:3000; }'],
])('%s may be anything of the application', async (_, lines) => {
  expect(await ids(inServer(lines))).toEqual(UNCHECKED);
});

test('the ways out that the quickstart shows have no findings', async () => {
  const page = new URL('../../../../../docs/quickstart/nginx.md', import.meta.url);
  const blocks = blocksOf(readFileSync(page, 'utf8')).filter(
    ({ language }) => language === 'nginx',
  );
  const hop = blocks.find(({ file }) => file === 'hop.conf')?.text ?? '';
  const shown = blocks.map(({ text }) => text).filter((text) => text.includes('headgate-'));
  expect(shown.length).toBeGreaterThan(3);
  for (const block of shown) {
    const text = block.replaceAll('include hop.conf;', hop);
    const isServer = text.startsWith('server');
    const http = isServer ? text : `server { include headgate-server.conf; ${text} }`;
    expect(await idsIn({ policies, http })).toEqual([]);
  }
});
