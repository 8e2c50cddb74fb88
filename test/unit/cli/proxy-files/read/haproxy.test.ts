import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readHaproxy } from '../../../../../src/cli/proxy-files/read/haproxy/reader.ts';
import { rewriteFindings } from '../../../../../src/cli/proxy-files/read/rewrites.ts';
import {
  uncheckedPaths,
  uncheckedRoutes,
} from '../../../../../src/cli/proxy-files/read/unchecked-paths.ts';
import { validFile } from '../../../../support/proxy-config.ts';

const SHIPPED = readFileSync(
  new URL('../../../../../deploy/haproxy/haproxy.cfg', import.meta.url),
  'utf8',
);
const POLICIES = validFile(`version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [5/5min] }
  - { name: api-login, match: { method: POST, path: /api/login }, limits: [5/5min] }
  - { name: users, match: { path: /users/:id }, limits: [5/5min] }
`);

const CHECK = 'http-request lua.headgate 127.0.0.1:8090 x-api-key';
const site = (lines: string, more = '') => `
frontend site
  bind :443 ssl crt site.pem
  ${lines}
  default_backend application
backend application
  server a 127.0.0.1:3000 check
${more}`;

const read = (text: string) =>
  readHaproxy({ file: 'haproxy.cfg', path: 'haproxy.cfg', text, policies: undefined }) ?? {};
const unchecked = (text: string) =>
  uncheckedRoutes(read(text).routes ?? []).map(({ file, message }) => {
    return `${file} ${message.replace(/ without asking.*/, '')}`;
  });
const findings = (text: string) =>
  [...(read(text).own ?? []), ...rewriteFindings(read(text).rewrites ?? [], POLICIES)].map(
    ({ rule, file, message }) => `${rule} ${file} ${message}`,
  );
const rewritten = (lines: string, more = '') =>
  findings(site(lines, more)).map((each) => each.replace(/.*so polic(y|ies) /, ''));

test('finds nothing in the shipped file', () => {
  expect(unchecked(SHIPPED)).toEqual([]);
  expect(findings(SHIPPED)).toEqual([]);
  expect(read(SHIPPED).facts?.gateways).toEqual(['127.0.0.1:8080']);
});

describe('another way to an application', () => {
  test.each([
    ['a frontend', 'frontend plain\n  bind :80\n  default_backend application'],
    ['a frontend of TCP', 'frontend raw\n  mode tcp\n  bind :81\n  use_backend application if x'],
    [
      'a backend with the same server',
      'frontend b\n  bind :80\n  default_backend other\nbackend other\n  server x localhost:3000',
    ],
    ['a listen with the same server', 'listen direct\n  bind :81\n  server x 127.0.0.1:3000'],
    ['the rest of a name', 'frontend d\n  use_backend app%[req.hdr(x)] if y'],
  ])('is %s', (_, more) => {
    expect(unchecked(site(CHECK, more))).toEqual([
      expect.stringMatching(/^haproxy\.cfg:\d+ the (frontend|listen) \w+ passes requests to 127/),
    ]);
  });

  test('names the line that leads there', () => {
    const text = site(CHECK, 'frontend plain\n  bind :80\n  default_backend application');
    expect(unchecked(text)).toEqual([
      'haproxy.cfg:10 the frontend plain passes requests to 127.0.0.1:3000',
    ]);
    expect(text.split('\n')[9]).toBe('  default_backend application');
  });

  test.each([
    [
      'redirects',
      'frontend plain\n  bind :80\n  http-request redirect scheme https\n  default_backend application',
    ],
    [
      'redirects without TLS',
      'frontend plain\n  bind :80\n  redirect scheme https code 301 if !{ ssl_fc }\n  default_backend application',
    ],
    [
      'leads to another application',
      'frontend other\n  default_backend b\nbackend b\n  server b 127.0.0.1:3001',
    ],
    ['asks headgate', `frontend second\n  ${CHECK}\n  default_backend application`],
    ['may lead anywhere', 'frontend d\n  use_backend %[req.hdr(host),lower]'],
    ['shows statistics', 'listen stats\n  bind :8404\n  stats enable'],
  ])('is not a frontend that %s', (_, more) => {
    expect(unchecked(site(CHECK, more))).toEqual([]);
  });

  test('is none to a backend that asks headgate itself', () => {
    const more = 'frontend plain\n  bind :80\n  default_backend application';
    expect(unchecked(site('', `${more}`).replace('  server a', `  ${CHECK}\n  server a`))).toEqual(
      [],
    );
  });

  test('comes from the defaults', () => {
    const more = `defaults\n  default_backend application\nfrontend inherits\n  bind :80\n`;
    expect(unchecked(site(CHECK, more))).toHaveLength(1);
  });
});

describe('a rewrite after the check', () => {
  test.each([
    ['http-request set-path /login if { path /old }', 'login can be avoided'],
    ['http-request set-path /login if old\n  acl old path_beg /old', 'login can be avoided'],
    ['http-request replace-path /old(/.*) \\1', 'login, api-login, users can be avoided'],
    ['http-request set-path %[path,regsub(^/v1/,/)]', 'login, api-login, users can be avoided'],
    [
      'http-request set-path "%[path,regsub(^/v1/,/users/)]" if { path_beg /v1/ }',
      'users can be avoided',
    ],
    ['http-request set-uri /users%[path]', 'users can be avoided'],
    ['http-request replace-uri ^/a/(.*) /login', 'login can be avoided'],
    ['http-request replace-pathq /a/(.*) /api/\\1', 'api-login can be avoided'],
    ['http-request replace-path (.*)\\.json \\1', 'login, api-login, users can be avoided'],
    ['http-request replace-path /git\\/?(.*) \\/\\1', 'login, api-login, users can be avoided'],
    ['http-request replace-path ^/v1(?:/)?(.*) /\\1', 'login, api-login, users can be avoided'],
    [
      'http-request replace-path /v1/?(.*)$ /api/\\1 if { path -m reg ^/v1(/|$) }',
      'api-login can be avoided',
    ],
  ])('%s', (line, expected) => {
    expect(rewritten(`${CHECK}\n  ${line}`)).toEqual([expected]);
    expect(rewritten(`${line}\n  ${CHECK}`)).toEqual([]);
  });

  test('is in the backend', () => {
    const text = site(CHECK).replace(
      '  server a',
      '  http-request set-path /login if { path /x }\n  server a',
    );
    expect(findings(text)).toEqual([
      'path-rewritten haproxy.cfg:7 http-request set-path /login changes the path after headgate has checked it, so policy login can be avoided',
    ]);
  });

  test.each([
    [
      'policies name the path that clients send',
      'http-request replace-path /api(/.*) \\1 if { path_beg /api }\n  use_backend b if { path_beg /api }',
    ],
    ['no policy names the new path', 'http-request set-path /index.html if { path / }'],
    ['the new path is longer at its end', 'http-request set-path %[path]/ if { path_end -i /x }'],
    ['the new path may be any', 'http-request set-path %[var(txn.path)]'],
    [
      'the condition leads to another application',
      'use_backend b if other\n  acl other path_reg ^/other(/|$)',
    ],
    ['only the query changes', 'http-request set-query a=1'],
    [
      'the path that clients send has a policy',
      'http-request set-path /login if { path /api/login }',
    ],
  ])('is none that matters if %s', (_, lines) => {
    const more =
      'backend b\n  http-request replace-path ^/other/?(.*)$ /\\1\n  server b 127.0.0.1:3001';
    const found = rewritten(`${CHECK}\n  ${lines}`, more);
    expect(found.filter((each) => /api-login/.test(each))).toEqual([]);
    if (!lines.includes('replace-path')) expect(found).toEqual([]);
  });
});

test('an allow above the check leaves requests out', () => {
  const problems = (lines: string) =>
    uncheckedPaths(read(site(lines)).sites ?? [], POLICIES).map(
      ({ file, message }) => `${file} ${message}`,
    );
  const allow = 'http-request allow if { path_beg /log }';
  expect(problems(`${allow}\n  ${CHECK}`)).toEqual([
    'haproxy.cfg:4 http-request allow above the check passes requests on without asking headgate, and policy login limits such requests',
  ]);
  expect(problems(`${CHECK}\n  ${allow}`)).toEqual([]);
  expect(problems(`http-request allow if { src 10.0.0.0/8 }\n  ${CHECK}`)).toEqual([]);
});

describe('the sections of headgate', () => {
  const part = SHIPPED.slice(SHIPPED.indexOf('# headgate: part for the end'));
  const old = part.replaceAll(' from headgate', '');
  const defaults = (lines: string) => `defaults\n  mode http\n  timeout client 5s\n  ${lines}\n`;

  test.each([
    'option httpchk',
    'option ssl-hello-chk',
    'default-server check',
    'default-server ssl verify none',
    'stats enable',
    'monitor-uri /haproxy',
    'mode tcp',
    'http-request deny if { src 10.0.0.0/8 }',
  ])('inherit %s from the defaults before them', (line) => {
    expect(findings(defaults(line) + site(CHECK) + old)).toEqual([
      `check-inherits haproxy.cfg:4 the sections of headgate inherit ${line} (line 4)`,
    ]);
    expect(findings(`defaults headgate\nglobal\n${defaults(line)}${site(CHECK)}${part}`)).toEqual(
      [],
    );
  });

  test('inherit nothing that matters from ordinary defaults', () => {
    expect(findings(defaults('retries 3') + site(CHECK) + old)).toEqual([]);
  });

  test('are logged', () => {
    const logs = defaults('log global\n  option httplog');
    expect(findings(logs + site(CHECK) + old)).toEqual([
      'checks-logged haproxy.cfg:5 option httplog also writes a line for each check',
    ]);
    const level = (words: string) => findings(`global\n  log ${words}\n${site(CHECK)}${part}`);
    expect(level('/dev/log local0')).toEqual([
      'checks-logged haproxy.cfg:2 log /dev/log local0 also writes a line for each check',
    ]);
    expect(level('/dev/log local0 notice')).toEqual([]);
  });

  test('take the defaults from sections that follow', () => {
    const text = `${defaults('retries 3')}defaults headgate\nglobal\n${site(CHECK)}${part}`;
    expect(findings(text)).toEqual([
      'defaults-lost haproxy.cfg:5 frontend site (line 8), backend application (line 12) inherit nothing, because defaults headgate comes after the defaults of line 1',
    ]);
  });
});

test.each([
  ['Windows line ends', site(CHECK).replaceAll('\n', '\r\n')],
  ['an open quote', site(`${CHECK}\n  http-request set-header X "open`)],
  ['backslashes', site(`${CHECK}\n  acl a path_reg ^/a\\ b\\#c$ # comment`)],
  ['sections without names', `${site(CHECK)}\nbackend\ndefaults from\nfrontend from x`],
])('reads a file with %s', (_, text) => {
  expect(read(text).facts?.proxy).toBe('haproxy');
  expect(unchecked(text)).toEqual([]);
  expect(findings(text)).toEqual([]);
});
