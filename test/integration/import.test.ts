/** `headgate import` as people run it, and a gateway with its result beside the real NGINX that it comes from. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { IMPORTS } from '../support/imports.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProxy, runProxy } from '../support/proxies.ts';
import { Random } from '../support/random.ts';
import { startUpstream } from '../support/upstream.ts';

const root = mkdtempSync(join(tmpdir(), 'headgate-import-'));
afterAll(() => rmSync(root, { recursive: true }));
const newFolder = () => mkdtempSync(join(root, 'run-'));

describe('the command', () => {
  test('prints the policy file, and what differs beside it', async () => {
    const cwd = join(IMPORTS, 'nginx');
    const run = await runCommand(['import', 'nginx', 'locations.conf'], { cwd });
    expect(run.code).toBe(0);
    expect(run.stdout).toBe(readFileSync(join(cwd, 'locations.yaml'), 'utf8'));
    expect(run.stderr).toContain(readFileSync(join(cwd, 'locations.txt'), 'utf8'));
    expect(run.stderr).toMatch(
      /^headgate: 3 policies and the default, from 3 limits; 2 not carried over, 2 approximate, 0 to note$/m,
    );
  });

  test('reads standard input, with includes relative to the folder', async () => {
    const cwd = join(IMPORTS, 'nginx');
    const input = readFileSync(join(cwd, 'includes.conf'), 'utf8');
    const run = await runCommand(['import', 'nginx', '-'], { cwd, input });
    expect(run.code).toBe(0);
    expect(run.stdout).toContain('# Made by headgate import nginx from standard input.');
    expect(run.stdout).toContain('host: b.example.com');
    expect(run.stderr).toContain('standard input:2:5: limit_req_zone');
  });

  test('reads the output of nginx -T', async () => {
    const dump = [
      '# configuration file /etc/nginx/nginx.conf:',
      'http { limit_req_zone $remote_addr zone=a:1m rate=1r/s; include sites/*; }',
      '# configuration file /etc/nginx/sites/a:',
      'server { location = /login { limit_req zone=a; } }',
    ];
    const run = await runCommand(['import', 'nginx', '-'], { input: `${dump.join('\n')}\n` });
    expect(run.code).toBe(0);
    expect(run.stdout).toContain('from limit_req zone=a, /etc/nginx/sites/a:1');
  });

  test('writes a file, which passes headgate check, and overwrites none unasked', async () => {
    const cwd = newFolder();
    const out = ['--out', 'policies.yaml'];
    const source = join(IMPORTS, 'kong/kong.yml');
    const made = await runCommand(['import', 'kong', source, ...out], { cwd });
    expect(made).toMatchObject({ code: 0, stdout: '' });
    const checked = await runCommand(['check', '--strict', 'policies.yaml'], { cwd });
    expect(checked.code).toBe(0);
    writeFileSync(join(cwd, 'policies.yaml'), 'mine');
    const refused = await runCommand(['import', 'kong', source, ...out], { cwd });
    expect(refused).toMatchObject({
      code: 1,
      stderr:
        'headgate: policies.yaml: exists already; nothing was written. Name another file, or add --force to overwrite.\n',
    });
    expect(readFileSync(join(cwd, 'policies.yaml'), 'utf8')).toBe('mine');
    const forced = await runCommand(['import', 'kong', source, ...out, '--force'], { cwd });
    expect(forced.code).toBe(0);
    expect(readFileSync(join(cwd, 'policies.yaml'), 'utf8')).toContain('version: 1');
  });

  test('in shadow mode, the gateway denies nobody', async () => {
    const cwd = newFolder();
    const source = join(cwd, 'site.conf');
    const zone = 'limit_req_zone $binary_remote_addr zone=create:1m rate=5r/m;';
    const locations = ['create-account', 'login'].map(
      (name) => `location = /${name} { limit_req zone=create; }`,
    );
    writeFileSync(source, `${zone} server { ${locations.join(' ')} }`);
    const made = await runCommand(['import', 'nginx', source, '--shadow'], { cwd });
    writeFileSync(join(cwd, 'policies.yaml'), made.stdout);
    await using gateway = await startGateway({ HEADGATE_POLICIES: join(cwd, 'policies.yaml') });
    for (let i = 0; i < 8; i++) {
      const answer = await call(gateway.url, '/envoy/create-account', { method: 'POST' });
      expect(answer.status).toBe(200);
    }
    const log = gateway.output();
    expect(made.stdout.match(/mode: shadow/g)).toHaveLength(2);
    expect(log).not.toContain('"verdict":"deny"');
  });

  test.each([
    [['import', 'nginx', 'none.conf'], 1, 'none.conf: does not exist'],
    [
      ['import', 'nginx', 'a.js'],
      1,
      'a.js:1:1: "app.listen(3000)" has no end: add a ";"; nothing was written',
    ],
    [
      ['import', 'nginx', 'mime.types'],
      1,
      'mime.types:1:1: has no limit_req_zone and no limit_req.',
    ],
    [['import', 'traefik', 'a.toml'], 1, 'a.toml:1:1: is TOML, which headgate does not read.'],
    [['import', 'kong', 'a.yaml'], 1, 'a.yaml:1:4: this value and the next line do not fit'],
    [['import', 'nginx', 'loop.conf'], 1, 'loop.conf:2:1: '],
    [
      ['import', 'apache', 'a.js'],
      2,
      "command-argument value 'apache' is invalid for argument 'kind'",
    ],
    [
      ['import', 'express-rate-limit', 'a.js'],
      2,
      'Copy its options by hand: docs/recipes/from-express-rate-limit.md says how.',
    ],
    [['import', 'nginx'], 2, "missing required argument 'file'"],
  ])('%j ends with %d', async (args, code, message) => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'a.js'), 'app.listen(3000)');
    writeFileSync(join(cwd, 'mime.types'), 'types { text/html html; }');
    writeFileSync(join(cwd, 'a.toml'), '[http.middlewares.a.rateLimit]\naverage = 1\n');
    writeFileSync(join(cwd, 'a.yaml'), 'a: b\n  c: d\n');
    writeFileSync(
      join(cwd, 'loop.conf'),
      'limit_req_zone $remote_addr zone=a:1m rate=1r/s;\ninclude loop.conf;',
    );
    const run = await runCommand(args, { cwd });
    expect(run.code).toBe(code);
    expect(run.stdout).toBe('');
    expect(run.stderr).toContain(message);
  });

  test('escapes what terminals would obey', async () => {
    const cwd = newFolder();
    const text = `limit_req_zone $remote_addr zone=a:1m rate=1r/s; server { limit_req zone=a; limit_req zone="\u001b]0;x" burst=1; limit_req zone="\u001b[31m"; }`;
    writeFileSync(join(cwd, 'a.conf'), text);
    const run = await runCommand(['import', 'nginx', 'a.conf'], { cwd });
    expect(run.code).toBe(0);
    expect(run.stdout + run.stderr).not.toContain('\u001b');
  });
});

test('a configuration of which nothing can be carried over is a failure', async () => {
  const input = 'limit_req_zone $cookie_id zone=a:1m rate=1r/s; server { limit_req zone=a; }';
  const cwd = newFolder();
  const args = ['import', 'nginx', '-', '--out', 'policies.yaml'];
  const run = await runCommand(args, { cwd, input });
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toContain('not carried over: headgate does not read cookies.');
  expect(run.stderr).toContain('standard input: nothing was carried over, so nothing was written.');
  expect(existsSync(join(cwd, 'policies.yaml'))).toBe(false);
});

/** One request a minute, so that no bucket fills again while the test runs. Each zone is used once. */
const CONFIGURATION = `
daemon off;
events {}
http {
  access_log off;
  set_real_ip_from 127.0.0.1;
  real_ip_header X-Forwarded-For;
  geo $limited { default 1; 10.0.0.0/8 0; }
  map $limited $visitor { 0 ""; 1 $binary_remote_addr; }
  map $request_method $writer { default ""; POST $visitor; DELETE $visitor; }
  limit_req_zone $visitor zone=all:1m rate=1r/m;
  limit_req_zone $visitor zone=login:1m rate=1r/m;
  limit_req_zone $visitor zone=search:1m rate=1r/m;
  map $limited $together { 0 ""; 1 everyone; }
  limit_req_zone $together zone=everyone:1m rate=1r/m;
  limit_req_zone $visitor zone=users:1m rate=1r/m;
  limit_req_zone $visitor zone=choice:1m rate=1r/m;
  limit_req_zone $visitor zone=nested:1m rate=1r/m;
  limit_req_zone $writer zone=writes:1m rate=1r/m;
  limit_req_zone $visitor zone=trial:1m rate=1r/m;
  limit_req_zone $visitor zone=other:1m rate=1r/m;
  limit_req_status 429;
  server {
    listen 127.0.0.1:PORT default_server;
    server_name _;
    limit_req zone=all burst=12 nodelay;
    location / { proxy_pass http://127.0.0.1:UPSTREAM; }
    location = /login { limit_req zone=login; proxy_pass http://127.0.0.1:UPSTREAM; }
    location /search/ {
      limit_req zone=search burst=3 nodelay;
      limit_req zone=everyone burst=20 nodelay;
      proxy_pass http://127.0.0.1:UPSTREAM;
      location /search/fast/ { limit_req zone=nested burst=7 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
    }
    location ~ ^/users/[0-9]+/avatar$ { limit_req zone=users burst=2 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
    location ~ ^/(news|blog)$ { limit_req zone=choice burst=1 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
    location = /graphql { limit_req zone=writes burst=4 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
    location /trial/ { limit_req zone=trial; limit_req_dry_run on; proxy_pass http://127.0.0.1:UPSTREAM; }
    location = /up { return 200 "up"; }
  }
  server {
    listen 127.0.0.1:PORT;
    server_name other.example.com;
    location / { proxy_pass http://127.0.0.1:UPSTREAM; }
    location /files/ { limit_req zone=other burst=5 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
  }
}
`;

/** Limits of all servers, and servers for hosts below a domain, one of which has a server of its own. */
const SEVERAL_SERVERS = `
daemon off;
events {}
http {
  access_log off;
  set_real_ip_from 127.0.0.1;
  real_ip_header X-Forwarded-For;
  limit_req_zone $binary_remote_addr zone=all:1m rate=1r/m;
  limit_req_zone $binary_remote_addr zone=login:1m rate=1r/m;
  limit_req_zone $binary_remote_addr zone=tenants:1m rate=1r/m;
  limit_req_zone $binary_remote_addr zone=users:1m rate=1r/m;
  limit_req_zone $binary_remote_addr zone=own:1m rate=1r/m;
  limit_req_status 429;
  limit_req zone=all burst=30 nodelay;
  server { listen 127.0.0.1:PORT default_server; return 444; }
  server {
    listen 127.0.0.1:PORT;
    server_name www.example.com;
    location / { proxy_pass http://127.0.0.1:UPSTREAM; }
    location = /login { limit_req zone=login burst=2 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
  }
  server {
    listen 127.0.0.1:PORT;
    server_name *.example.org;
    location / { limit_req zone=tenants burst=6 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
    location /users/ { limit_req zone=users burst=1 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
  }
  server {
    listen 127.0.0.1:PORT;
    server_name own.example.org;
    location / { return 200 "not limited"; }
    location /login { limit_req zone=own burst=4 nodelay; proxy_pass http://127.0.0.1:UPSTREAM; }
  }
}
`;

const PATHS = [
  ...['/', '/about', '/login', '/login/x', '/search/', '/search/a', '/search/fast/b'],
  ...['/users/7/avatar', '/users/7', '/news', '/graphql', '/trial/a', '/up', '/files/a'],
];
const CLIENTS = ['203.0.113.1', '203.0.113.2', '198.51.100.77', '10.4.5.6'];

async function startLimitingNginx(configuration: string, upstream: number): Promise<RunningProxy> {
  const folder = newFolder();
  const port = await freePort();
  mkdirSync(join(folder, 'logs'));
  const file = join(folder, 'nginx.conf');
  const text = configuration.replaceAll('PORT', `${port}`).replaceAll('UPSTREAM', `${upstream}`);
  writeFileSync(file, `error_log stderr crit;\npid "${join(folder, 'pid')}";\n${text}`);
  return runProxy('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], port, folder);
}

test.skipIf(inject('programs').nginx === undefined).each([
  ['locations', CONFIGURATION, ['www.example.com', 'other.example.com']],
  ['several servers', SEVERAL_SERVERS, ['www.example.com', 'x.example.org', 'own.example.org']],
])(
  'a gateway with the imported file lets the same requests pass as the real NGINX: %s',
  async (_, configuration, hosts) => {
    await using upstream = await startUpstream();
    await using nginx = await startLimitingNginx(configuration, upstream.port);
    const folder = newFolder();
    const input = configuration.replaceAll('PORT', '8000').replaceAll('UPSTREAM', '3000');
    const imported = await runCommand(['import', 'nginx', '-'], { input });
    expect(imported).toMatchObject({ code: 0 });
    writeFileSync(join(folder, 'policies.yaml'), imported.stdout);
    await using gateway = await startGateway({ HEADGATE_POLICIES: join(folder, 'policies.yaml') });
    const random = new Random(4);
    const differing: string[] = [];
    const seen = { passed: 0, denied: 0 };
    for (let i = 0; i < 700; i++) {
      const [path, client, host] = [
        random.oneOf(PATHS),
        random.oneOf(CLIENTS),
        random.oneOf(hosts),
      ];
      const method = random.oneOf(['GET', 'POST']);
      const real = await call(nginx.url, path, {
        method,
        headers: { host, 'x-forwarded-for': client },
      });
      const ours = await call(gateway.url, `/envoy${path}`, {
        method,
        headers: { host, 'x-headgate-client-ip': client },
      });
      if (real.status === 429) seen.denied++;
      else seen.passed++;
      if ((real.status === 429) !== (ours.status === 429)) {
        differing.push(
          `${i}: ${method} ${host}${path} from ${client}: ${real.status}, ${ours.status}`,
        );
      }
    }
    expect(differing).toEqual([]);
    expect(seen.passed).toBeGreaterThan(100);
    expect(seen.denied).toBeGreaterThan(100);
  },
);
