/** What operators see when they start headgate: its output, its exit codes, and who can reach its ports. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type GatewayProcess, startGateway, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/process.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-process-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Starts the program, which must end by itself. */
async function runProgram(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = startProcess(NODE, [MAIN, ...args], { env: { ...process.env, ...env } });
  const code = await child.exited();
  return { code, output: child.output() };
}

describe('pretenuring of V8', () => {
  const printsFlags = `data:text/javascript,
    import v8 from 'node:v8';
    import { syncBuiltinESMExports } from 'node:module';
    const set = v8.setFlagsFromString;
    v8.setFlagsFromString = (flags) => { console.log('set', flags); set(flags); };
    syncBuiltinESMExports();`;
  const NODE_OPTIONS = `--import=${printsFlags.replace(/\s+/g, '%20')}`;
  const SET = 'set --no-allocation-site-pretenuring';

  test.each([1, 2])('is off in gateways, with %i worker(s) in each process', async (workers) => {
    await using gateway = await startGatewayProcess({
      NODE_OPTIONS,
      HEADGATE_WORKERS: String(workers),
      ...(workers > 1 && { HEADGATE_REDIS_URL: `redis://127.0.0.1:${await freePort()}` }),
    });
    const processes = workers > 1 ? workers + 1 : 1;
    expect(gateway.output().split(SET)).toHaveLength(1 + processes);
  });

  test('stays as it is for other commands', async () => {
    const { code, output } = await runProgram(['schema'], { NODE_OPTIONS });
    expect(code).toBe(0);
    expect(output).not.toContain('set --');
  });
});

describe('a running gateway', () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGatewayProcess();
  });
  afterAll(() => gateway?.stop());

  test('prints its addresses, its policies, its store, and a request to try', async () => {
    expect(gateway.output()).toMatch(/proxies at http:\/\/127\.0\.0\.1:\d+ and operators at/);
    expect(gateway.output()).toContain('(login, register, upload, search, chat, default)');
    expect(gateway.output()).toContain('memory: counters of this process only');
    expect(gateway.output()).toContain(
      `curl -i -X POST ${gateway.url}/envoy/api/auth/login -H 'x-api-key: alice'`,
    );
    const codes = await statuses(6, () =>
      call(gateway.url, '/envoy/api/auth/login', {
        method: 'POST',
        headers: { 'x-api-key': 'alice' },
      }),
    );
    expect(codes).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('makes the health check succeed', async () => {
    const { port } = new URL(gateway.opsUrl);
    const healthcheck = await runCommand(['healthcheck'], { env: { HEADGATE_OPS_PORT: port } });
    expect(healthcheck.code).toBe(0);
  });

  test('keeps its port, so a second gateway exits with 1', async () => {
    const { code, output } = await runProgram([], {
      HEADGATE_PORT: String(gateway.port),
      HEADGATE_OPS_PORT: '0',
      HEADGATE_GRPC_PORT: 'off',
    });
    expect(code).toBe(1);
    expect(output).toContain(
      `port ${gateway.port} is taken, perhaps by another headgate; stop that, or choose another port with HEADGATE_PORT`,
    );
  });
});

test('while a gateway drains, it is alive but not ready', async () => {
  await using gateway = await startGatewayProcess({ HEADGATE_DRAIN_MS: '600000' });
  const env = { HEADGATE_OPS_PORT: new URL(gateway.opsUrl).port };
  const codeOf = async (...flags: string[]) =>
    (await runCommand(['healthcheck', ...flags], { env })).code;
  expect([await codeOf(), await codeOf('--ready')]).toEqual([0, 0]);
  gateway.signal('SIGTERM');
  await gateway.printed(/"stopping"/);
  expect([await codeOf(), await codeOf('--ready')]).toEqual([0, 1]);
  // A second signal ends it at once.
  await gateway.stop('SIGTERM');
});

test('the health check fails without a gateway', async () => {
  const env = { HEADGATE_OPS_PORT: String(await freePort()) };
  expect((await runCommand(['healthcheck'], { env })).code).toBe(1);
});

test('a policy file with mistakes stops the start with exit code 3 and a list of them', async () => {
  const path = file('bad.yaml', 'version: 1\ndefault: { limits: [5/5m] }\npolices: []\n');
  const { code, output } = await runProgram(['serve', '--policies', path]);
  expect(code).toBe(3);
  expect(output).toContain(`${path}:2:21: default.limits[0]: "5/5m" is not a rate, write "5/5min"`);
  expect(output).toContain(`${path}:3:1: polices: is not a known key, did you mean "policies"?`);
  expect(output).toContain('2 mistakes, nothing was started');
  expect(output).not.toContain('answers proxies');
});

describe('headgate exits with 3, and names the setting, for', () => {
  test.each([
    [
      'a policy file that does not exist',
      { HEADGATE_POLICIES: '/nowhere.yaml' },
      '/nowhere.yaml: does not exist; --policies or HEADGATE_POLICIES names the policy file',
    ],
    ['an invalid setting', { HEADGATE_PORT: 'http' }, 'HEADGATE_PORT: must be a port'],
    [
      'several workers that count in memory',
      { HEADGATE_WORKERS: '4' },
      'HEADGATE_WORKERS: several workers need HEADGATE_REDIS_URL',
    ],
  ])('%s', async (_mistake, env, message) => {
    const { code, stderr } = await runCommand([], { env });
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(message) });
  });

  test.each([['serve'], ['healthcheck']])(
    'an ops port that other machines can reach without a token (%s)',
    async (command) => {
      const env = { HEADGATE_OPS_HOST: '0.0.0.0' };
      const { code, stdout, stderr } = await runCommand([command], { env });
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
      expect(stderr).toContain('HEADGATE_OPS_HOST: other machines can reach "0.0.0.0"');
      expect(stderr).toContain('1 mistake, nothing was started');
    },
  );
});

test('with a token, other machines can reach the ops port, and probes need no token', async () => {
  const token = 'the-token-of-operators';
  await using gateway = await startGateway({
    HEADGATE_OPS_HOST: '0.0.0.0',
    HEADGATE_ADMIN_TOKEN: token,
  });
  for (const path of ['/livez', '/readyz', '/metrics'])
    expect((await call(gateway.opsUrl, path)).status).toBe(200);
  expect(gateway.output()).not.toContain(token);
});

test.each([[['serv']], [['serve', '--polices', 'x']], [['check', '--polices', 'x']]])(
  '%j is a usage error with exit code 2',
  async (args) => {
    expect((await runCommand(args)).code).toBe(2);
  },
);

test('an unknown command is named', async () => {
  expect((await runCommand(['serv'])).stderr).toBe(
    'error: unknown command "serv", did you mean "serve"?\n',
  );
  expect((await runCommand(['clients', 'lst'])).stderr).toBe(
    "error: unknown command 'lst'\nSee headgate clients --help\n",
  );
  expect((await runCommand(['policies.yaml'])).stderr).toBe(
    'error: to serve a policy file: --policies policies.yaml\n',
  );
});

test('the version and the help are printed with exit code 0', async () => {
  const version = { code: 0, output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) };
  expect(await runProgram(['--version'])).toEqual(version);
  expect(await runCommand(['--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/serve[\s\S]*check[\s\S]*healthcheck[\s\S]*schema/),
  });
});

test('key new prints a key once, and its entry for the policy file', async () => {
  const { stdout } = await runCommand(['key', 'new', '--id', 'acme: one', '--plan', 'pro']);
  const key = /^ {2}(hg_[\w-]{43})$/m.exec(stdout)?.[1] ?? '';
  const entry = stdout.split('\n').find((line) => line.startsWith('  - '));
  file('keys.yaml', `${entry}\n`);
  const policies = file(
    'keyed.yaml',
    `version: 1\nidentity: { api_key: { header: Authorization, keys: keys.yaml } }\ndefault: { limits: [1/1h], plans: { pro: [3/1h] } }\n`,
  );
  await using gateway = await startGateway({ HEADGATE_POLICIES: policies });
  const codes = await statuses(4, (i) =>
    call(gateway.url, '/envoy/a', {
      headers: { Authorization: `Bearer ${key}`, 'x-headgate-client-ip': `203.0.113.${i}` },
    }),
  );
  expect(codes).toEqual([200, 200, 200, 429]);
});

describe('the check port', () => {
  test.each([
    [1, { HEADGATE_HOST: '0.0.0.0' }],
    [0, { HEADGATE_HOST: '127.0.0.1' }],
    [0, { HEADGATE_HOST: '0.0.0.0', HEADGATE_PROXY_SECRET: 'sixteen-characters' }],
  ])('causes %i warnings with %j', async (warnings, env) => {
    await using gateway = await startGateway(env);
    expect(gateway.output().match(/"event":"check_port_open"/g) ?? []).toHaveLength(warnings);
  });

  test('accepts the old and the new secret, and refuses callers without one of them', async () => {
    await using gateway = await startGateway({
      HEADGATE_PROXY_SECRET: 'the-old-secret-of-proxies,the-new-secret-of-proxies',
    });
    const check = (headers: Record<string, string | string[]>) =>
      call(gateway.url, '/envoy/a', { headers });
    for (const secret of ['the-old-secret-of-proxies', 'the-new-secret-of-proxies']) {
      expect((await check({ 'x-headgate-secret': secret })).status).toBe(200);
    }
    for (const secret of [
      'the-old-secret-of-proxieS',
      'the-old',
      '',
      'the-old-secret-of-proxies,',
    ]) {
      const refused = await check({ 'x-headgate-secret': secret });
      expect(refused.status).toBe(403);
      expect(JSON.parse(refused.body).error).toBe('forbidden');
    }
    expect((await check({})).status).toBe(403);
    const doubled = { 'x-headgate-secret': ['the-old-secret-of-proxies', 'x'] };
    expect((await check(doubled)).status).toBe(403);
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toContain('headgate_strangers_refused_total 6');
    expect(gateway.output()).toContain('"event":"stranger_refused"');
  });
});

describe('a unix socket', () => {
  const path = join(folder, 'check.sock');
  const env = { HEADGATE_LISTEN: `unix:${path}` };
  const login = async (client: string) => {
    const headers = { 'x-headgate-client-ip': client };
    const options = { socketPath: path, agent: new Agent(), method: 'POST', headers };
    return (await call('http://localhost', '/envoy/api/auth/login', options)).status;
  };

  test('is open to its owner and group, whose client addresses are believed', async () => {
    await using gateway = await startGateway(env);
    expect(gateway.output()).toContain(
      `curl -i -X POST --unix-socket ${path} http://localhost/envoy/api/auth/login`,
    );
    expect(statSync(path).mode & 0o777).toBe(0o660);
    const codes: number[] = [];
    for (let i = 0; i < 6; i++) codes.push(await login('203.0.113.9'));
    expect(codes).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await login('203.0.113.10')).toBe(200);
  });

  test('that a killed gateway left is replaced, and one in use is not', async () => {
    const listenAndDie = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
    expect(spawnSync(process.execPath, ['-e', listenAndDie]).signal).toBe('SIGKILL');
    expect(statSync(path).isSocket()).toBe(true);
    await using _gateway = await startGateway(env);
    expect(await login('203.0.113.9')).toBe(200);
    const second = await runProgram([], {
      ...env,
      HEADGATE_OPS_PORT: '0',
      HEADGATE_GRPC_PORT: 'off',
    });
    expect(second.code).toBe(1);
    expect(second.output).toContain(`${path} is taken, choose another path with HEADGATE_LISTEN`);
    expect(await login('203.0.113.9')).toBe(200);
  });
});
