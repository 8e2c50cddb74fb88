/** What a policy file cannot have opens no path: the limit around it stays, and a line names the place. */
import { describe, expect, test } from 'vitest';
import type { ImportKind } from '../../../../src/cli/import/kinds.ts';
import { importText } from '../../../support/imports.ts';
import { policySetFrom } from '../../../support/policies.ts';

/** The limits of a GET in a minute, such as `5/60s`; none if it is not limited. */
function limitsOf(policies: string, path: string, method = 'GET'): string[] {
  const request = { method, host: 'api.example.com', target: path, policy: undefined, missing: [] };
  const applied = policySetFrom(policies).policiesFor(request);
  return applied
    .filter(({ mode }) => mode === 'enforce')
    .flatMap(({ limits }) =>
      limits.map(({ quota }) => `${(quota.limit * 60_000) / quota.windowMs}/60s`),
    );
}

const kong = (routes: string) => `_format_version: "3.0"
services:
  - name: api
    routes:
      - { name: all, paths: [/api], plugins: [{ name: rate-limiting, config: { minute: 5, limit_by: ip } }] }
${routes}`;

const traefik = (routers: string) => `http:
  middlewares: { rl: { rateLimit: { average: 5, period: 1m, burst: 5 } }, big: { rateLimit: { average: 50, period: 1m } } }
  routers:
    all: { rule: PathPrefix(\`/api\`), middlewares: [rl] }
${routers}`;

const ZONES = `limit_req_zone $binary_remote_addr zone=rl:1m rate=5r/m;
limit_req_zone $binary_remote_addr zone=big:1m rate=50r/m;
limit_req_zone $cookie_id zone=cookie:1m rate=9r/m;
`;
const nginx = (inside: string) =>
  `${ZONES}server {\nlocation /api { limit_req zone=rl; }\n${inside}\n}`;

/** Each is about /api/x, which has 5 a minute without it. */
const CONDITIONS: readonly [ImportKind, string, string][] = [
  ['kong', kong('      - { name: x, paths: [/api/x], headers: { a: [b] } }'), 'its headers'],
  ['kong', kong('      - { name: x, paths: [/api/x], snis: [a.b] }'), 'its snis'],
  [
    'kong',
    kong('      - { name: x, paths: [/api/x], sources: [{ ip: 10.0.0.1 }] }'),
    'its sources',
  ],
  ['kong', kong('      - { name: x, paths: [/api/x], protocols: [https] }'), 'its protocols'],
  ['kong', kong("      - { name: x, paths: ['~/api/x(?=y)'] }"), 'the path /api/x(?=y)'],
  ['kong', kong("      - { name: x, paths: ['~/api/[a-z]+$'] }"), 'the path /api/[a-z]+$'],
  [
    'kong',
    kong(
      '      - { name: x, paths: [/api/x], headers: { a: [b] }, plugins: [{ name: rate-limiting, config: { minute: 50 } }] }',
    ),
    'has the limits of route all',
  ],
  [
    'kong',
    kong(
      '      - { name: x, paths: [/api/x], plugins: [{ name: rate-limiting, config: { year: 50 } }] }',
    ),
    'its limits are not carried over',
  ],
  [
    'kong',
    kong(
      '      - { name: x, paths: [/api/x], plugins: [{ name: rate-limiting_902, config: { minute: 1 } }] }',
    ),
    'rate-limiting_902: not carried over',
  ],
  ...[
    'Header(`a`, `b`)',
    'Query(`a`, `b`)',
    'ClientIP(`10.0.0.0/8`)',
    '!Method(`POST`)',
    'PathRegexp(`x.+y`)',
  ].map((condition): [ImportKind, string, string] => [
    'traefik',
    traefik(`    x: { rule: "PathPrefix(\`/api/x\`) && ${condition}" }`),
    condition,
  ]),
  [
    'traefik',
    traefik('    x: { rule: PathPrefix(`/api/x`), middlewares: [limit@file] }'),
    'middleware limit of router x',
  ],
  [
    'traefik',
    traefik('    x: { rule: PathPrefix(`/api/x`), entryPoints: [internal] }'),
    'headgate cannot see whether',
  ],
  [
    'traefik',
    traefik('    x: { rule: "PathPrefix(`/api/x`) && Header(`a`, `b`)", middlewares: [big] }'),
    'the limits of router all',
  ],
  ['nginx', nginx('location /api/x { limit_req zone=cookie; }'), 'headgate does not read cookies'],
  [
    'nginx',
    nginx('location /api/x { limit_req zone=nowhere; }'),
    'no limit_req_zone with the name "nowhere"',
  ],
  ['nginx', nginx('location ~ ^/api/[a-z]+$ { root /srv; }'), 'this expression'],
  ['nginx', nginx('location ~ ^/api/x(?=$) { root /srv; }'), 'not carried over'],
  [
    'nginx',
    nginx('location /api/x { include missing.conf; }'),
    'include missing.conf: not carried over',
  ],
  ['nginx', nginx('location /api/x { if ($a) { break; } return 403; limit_req zone=rl; }'), ''],
];

test.each(CONDITIONS)('%s keeps the limit around %s', (kind, text, said) => {
  const { text: policies, findings } = importText(kind, text);
  expect(limitsOf(policies, '/api/x')).toContain('5/60s');
  expect(limitsOf(policies, '/api/z')).toEqual(['5/60s']);
  if (said !== '') expect(findings.map(({ message }) => message).join('\n')).toContain(said);
});

describe('a higher priority', () => {
  test('of a limited router holds for longer paths', () => {
    const routers =
      '    first: { rule: PathPrefix(`/api`), priority: 900, middlewares: [rl] }\n    x: { rule: PathPrefix(`/api/x`) }';
    const { text, findings } = importText('traefik', traefik(routers));
    expect(limitsOf(text, '/api/x')).toEqual(['5/60s']);
    expect(findings.map(({ message }) => message)).not.toContainEqual(
      expect.stringContaining('exempt'),
    );
  });

  test('of an unlimited router opens the paths that it opened', () => {
    const { text } = importText(
      'traefik',
      traefik('    x: { rule: PathPrefix(`/api/x`), priority: 900 }'),
    );
    expect(limitsOf(text, '/api/x')).toEqual([]);
  });
});

test('a route for HEAD alone does not open GET', () => {
  const { text } = importText('kong', kong('      - { name: x, paths: [/api], methods: [HEAD] }'));
  expect(limitsOf(text, '/api')).toEqual(['5/60s']);
});

test.each([
  ['rate-limiting_902', '{ policy: local }', true],
  ['customRateLimit', '{}', true],
  ['fair-use', '{ minute: 7 }', true],
  ['fair-use', '{ rules: [{ limit: [5], window_size: [60] }] }', true],
  ['generate-id', '{ length: 5 }', false],
  ['proxy-cache', '{ cache_ttl: 300 }', false],
  ['correlation-id', '{ generator: uuid }', false],
])('the Kong plugin %s with %s is named: %s', (name, config, isNamed) => {
  const plugin = `plugins: [{ name: ${name}, config: ${config} }]`;
  const { findings } = importText('kong', kong(plugin));
  const named = findings.filter(({ message }) => message.startsWith(`${name}: not carried over`));
  expect(named).toHaveLength(isNamed ? 1 : 0);
});

test('a Traefik plugin that limits is named', () => {
  const plugins =
    '  middlewares: { rl: { rateLimit: { average: 5, period: 1m } }, a: { plugin: { gate: { limit: 5, window: 1m } } }, b: { plugin: { cors: { age: 5 } } } }';
  const { findings } = importText(
    'traefik',
    `http:\n${plugins}\n  routers: { r: { rule: Path(\`/\`), middlewares: [rl, a] } }`,
  );
  expect(findings.map(({ message }) => message)).toEqual([
    'gate a: not carried over: headgate does not know this middleware, which looks like a limit. Keep it, or write a policy with its limits.',
  ]);
});

describe('NGINX goes on to a location with limits', () => {
  test.each([
    ['try_files', 'location /a { try_files $uri @app; } location @app { limit_req zone=big; }'],
    [
      'an index',
      'location /a { try_files $uri /index.php?$args; } location ~ \\.php$ { limit_req zone=big; }',
    ],
    [
      'error_page',
      'location /a { error_page 418 = @app; if ($arg_a) { return 418; } } location @app { limit_req zone=big; }',
    ],
    ['a rewrite', 'location /b { limit_req zone=big; } rewrite ^/a$ /b last;'],
    ['an expression with dots', 'location ~ ^/a$ { limit_req zone=big; }'],
  ])('%s', (_, inside) => {
    const { text } = importText('nginx', nginx(inside));
    expect(limitsOf(text, '/a')).toEqual(['50/60s']);
    expect(limitsOf(text, '/api')).toEqual(['5/60s']);
  });

  test('a map of paths with an empty default', () => {
    const map =
      'map $uri $key { default ""; ~^/login $binary_remote_addr; /join $binary_remote_addr; }';
    const zone = 'limit_req_zone $key zone=paths:1m rate=7r/m;';
    const { text } = importText('nginx', `${map}${zone} server { limit_req zone=paths; }`);
    expect(['/login/x', '/join', '/'].map((path) => limitsOf(text, path))).toEqual([
      ['7/60s'],
      ['7/60s'],
      [],
    ]);
  });

  test('a path of a map without ~ is no regular expression', () => {
    const map = 'map $uri $key { default ""; /v1.0/join $binary_remote_addr; }';
    const zone = 'limit_req_zone $key zone=paths:1m rate=7r/m;';
    const { text } = importText('nginx', `${map}${zone} server { limit_req zone=paths; }`);
    expect(
      ['/v1.0/join', '/v1x0/join', '/v1.0/join/x'].map((path) => limitsOf(text, path)),
    ).toEqual([['7/60s'], [], []]);
  });

  test('a map whose default headgate cannot count', () => {
    const map = 'map $cookie_id $key { default $cookie_id; "" $binary_remote_addr; }';
    const { text } = importText(
      'nginx',
      `${map} limit_req_zone $key zone=a:1m rate=7r/m; server { limit_req zone=a; }`,
    );
    expect(limitsOf(text, '/')).toEqual(['7/60s']);
  });
});

test('a plugin that an Ingress names and the file does not have may limit', () => {
  const plugin =
    'kind: KongPlugin\nmetadata: { name: rl }\nplugin: rate-limiting\nconfig: { minute: 5, limit_by: ip }';
  const ingress = (name: string, path: string) =>
    `kind: Ingress\nmetadata: { name: ${path.slice(1).replaceAll('/', '-')}, annotations: { konghq.com/plugins: ${name} } }\nspec: { rules: [{ http: { paths: [{ path: ${path} }] } }] }`;
  const file = [plugin, ingress('rl', '/api'), ingress('elsewhere', '/api/x')].join('\n---\n');
  const { text, findings } = importText('kong', file);
  expect(limitsOf(text, '/api/x')).toEqual(['5/60s']);
  expect(findings.map(({ message }) => message)).toContain(
    'elsewhere: not carried over: it is not in this file. If it limits requests, import the file that has it, too.',
  );
});

test('a location with another burst of the same zone has a policy of its own', () => {
  const { text } = importText('nginx', nginx('location /api/x { limit_req zone=rl burst=20; }'));
  expect(text).toContain('match: { path: /api/x/* }');
  expect(text).toContain('burst: 21');
});

test('networks that one zone limits, or that stand inside of others with a key, are not exempt', () => {
  const geo = 'geo $limited { default 1; 10.0.0.0/8 0; 10.1.0.0/16 1; 192.168.0.0/16 0; }';
  const map = 'map $limited $key { 0 ""; 1 $binary_remote_addr; }';
  const zones = `${geo}${map}limit_req_zone $key zone=key:1m rate=1r/s;${ZONES}`;
  const alone = importText('nginx', `${zones}server { limit_req zone=key; }`);
  expect(alone.text).toContain('192.168.0.0/16');
  expect(alone.text).not.toContain('10.0.0.0/8');
  const both = importText(
    'nginx',
    `${zones}server { limit_req zone=key; location /a { limit_req zone=rl; } }`,
  );
  expect(both.text).not.toContain('exempt');
  expect(both.findings.map(({ message }) => message).join('\n')).toContain(
    'other zones limit these networks',
  );
});

test('another Host does not get around the limits of the first server', () => {
  const servers =
    'server { server_name a.b; location /api { limit_req zone=rl; } } server { server_name c.d; }';
  const { text } = importText('nginx', `${ZONES}${servers}`);
  expect(limitsOf(text, '/api')).toEqual(['5/60s']);
});
