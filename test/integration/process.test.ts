/** The process as its operator meets it: start, refusal, exit codes, signals. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { startGatewayProcess } from '../support/gateway.ts';
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

/** The status of an answer over a unix socket. */
function callSocket(
  socketPath: string,
  path: string,
  method: string,
  headers: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });
}

async function headgate(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = startProcess(NODE, [MAIN, ...args], {
    env: { ...process.env, ...env },
  });
  const code = await child.exited();
  return { code, output: child.output() };
}

test('says what it serves, where it counts, and what to try', async () => {
  await using gateway = await startGatewayProcess();
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

describe('a mistaken policy file', () => {
  const path = file('bad.yaml', 'version: 1\ndefault: { limits: [5/5m] }\npolices: []\n');

  test('stops serve before anything listens, with every mistake and exit code 3', async () => {
    const { code, output } = await headgate(['serve', '--policies', path]);
    expect(code).toBe(3);
    expect(output).toContain(
      `${path}:2:21: default.limits[0]: "5/5m" is not a rate, write "5/5min"`,
    );
    expect(output).toContain(`${path}:3:1: polices: is not a known key, did you mean "policies"?`);
    expect(output).toContain('2 mistakes, nothing was started');
    expect(output).not.toContain('answers proxies');
  });
});

test('a policy file that is not there is named, with exit code 3', async () => {
  const { code, output } = await headgate([], { HEADGATE_POLICIES: '/nowhere.yaml' });
  expect({ code, output }).toMatchObject({
    code: 3,
    output: expect.stringContaining(
      '/nowhere.yaml: does not exist; HEADGATE_POLICIES names the policy file',
    ),
  });
});

test('an unreadable setting is named, with exit code 3', async () => {
  const { code, output } = await headgate([], { HEADGATE_PORT: 'http' });
  expect({ code, output }).toMatchObject({
    code: 3,
    output: expect.stringContaining('HEADGATE_PORT: must be a port'),
  });
});

describe('an operators port that other machines can reach', () => {
  const open = { HEADGATE_OPS_HOST: '0.0.0.0' };

  test.each([['serve'], ['healthcheck']])('is refused without a token, by %s', async (command) => {
    const { code, output } = await headgate([command], open);
    expect(code).toBe(3);
    expect(output).toContain('HEADGATE_OPS_HOST: other machines can reach "0.0.0.0"');
    expect(output).toContain('1 mistake, nothing was started');
    expect(output).not.toContain('answers proxies');
  });

  test('is opened with one, which is not repeated, and not asked for by probes', async () => {
    const token = 'the-token-of-operators';
    await using gateway = await startGatewayProcess({ ...open, HEADGATE_ADMIN_TOKEN: token });
    const { port } = new URL(gateway.opsUrl);
    for (const path of ['/livez', '/readyz', '/metrics'])
      expect((await call(`http://127.0.0.1:${port}`, path)).status).toBe(200);
    expect(gateway.output()).not.toContain(token);
  });
});

test.each([[['serv']], [['serve', '--polices', 'x']], [['check', '--polices', 'x']]])(
  '%j is a usage error: exit code 2',
  async (args) => {
    expect((await headgate(args)).code).toBe(2);
  },
);

test('key new prints a key once, with the entry by which it is known', async () => {
  const { output } = await headgate(['key', 'new', '--id', 'acme: one', '--plan', 'pro']);
  const key = /^ {2}(hg_[\w-]{43})$/m.exec(output)?.[1] ?? '';
  const entry = output.split('\n').find((line) => line.startsWith('  - '));
  const keys = file('keys.yaml', `${entry}\n`);
  const policies = file(
    'keyed.yaml',
    `version: 1\nidentity: { api_key: { header: Authorization, keys: keys.yaml } }\ndefault: { limits: [1/1h], plans: { pro: [3/1h] } }\n`,
  );
  expect(keys).toContain('keys.yaml');
  await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: policies });
  const ask = (i: number) =>
    call(gateway.url, '/envoy/a', {
      headers: { Authorization: `Bearer ${key}`, 'x-headgate-client-ip': `203.0.113.${i}` },
    });
  expect(await statuses(4, ask)).toEqual([200, 200, 200, 429]);
});

describe('whoever can reach the check port', () => {
  test('is warned of when that is anybody', async () => {
    await using gateway = await startGatewayProcess({ HEADGATE_HOST: '0.0.0.0' });
    await gateway.printed(/"event":"check_port_open"/);
  });
  test.each([
    { HEADGATE_HOST: '127.0.0.1' },
    { HEADGATE_HOST: '0.0.0.0', HEADGATE_PROXY_SECRET: 'sixteen-characters' },
  ])('is not with %j', async (env) => {
    await using gateway = await startGatewayProcess(env);
    expect(gateway.output()).not.toContain('check_port_open');
  });
  test('needs the secret where there is one, or the next one', async () => {
    await using gateway = await startGatewayProcess({
      HEADGATE_PROXY_SECRET: 'the-old-secret-of-proxies,the-new-secret-of-proxies',
    });
    const ask = (headers: Record<string, string | string[]>) =>
      call(gateway.url, '/envoy/a', { headers });
    for (const secret of ['the-old-secret-of-proxies', 'the-new-secret-of-proxies']) {
      expect((await ask({ 'x-headgate-secret': secret })).status).toBe(200);
    }
    for (const secret of [
      'the-old-secret-of-proxieS',
      'the-old',
      '',
      'the-old-secret-of-proxies,',
    ]) {
      const refused = await ask({ 'x-headgate-secret': secret });
      expect(refused.status).toBe(403);
      expect(JSON.parse(refused.body).error).toBe('forbidden');
    }
    expect((await ask({})).status).toBe(403);
    const doubled = { 'x-headgate-secret': ['the-old-secret-of-proxies', 'x'] };
    expect((await ask(doubled)).status).toBe(403);
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toContain('headgate_strangers_refused_total 6');
    expect(gateway.output()).toContain('"event":"stranger_refused"');
  });
});

describe('a unix socket', () => {
  const path = join(folder, 'check.sock');
  const start = () =>
    startProcess(NODE, [MAIN, 'serve'], {
      env: {
        ...process.env,
        HEADGATE_LISTEN: `unix:${path}`,
        HEADGATE_OPS_PORT: '0',
        HEADGATE_GRPC_PORT: 'off',
      },
    });
  const ask = (client: string) =>
    callSocket(path, '/envoy/api/auth/login', 'POST', { 'x-headgate-client-ip': client });

  test('is where a proxy beside the gateway may ask, and is believed', async () => {
    await using gateway = start();
    await gateway.printed(/proxies at unix:.*\n[\s\S]*curl .*\n/);
    expect(gateway.output()).toContain(
      `curl -i -X POST --unix-socket ${path} http://localhost/envoy/api/auth/login`,
    );
    expect(statSync(path).mode & 0o777).toBe(0o660);
    const codes: number[] = [];
    for (let i = 0; i < 6; i++) codes.push(await ask('203.0.113.9'));
    expect(codes).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await ask('203.0.113.10')).toBe(200);
  });
  test('that a gateway left behind is taken over, and one in use is not', async () => {
    await using killed = start();
    await killed.printed(/unix:/);
    await killed.stop('SIGKILL');
    expect(statSync(path).isSocket()).toBe(true);
    await using gateway = start();
    await gateway.printed(/unix:/);
    expect(await ask('203.0.113.9')).toBe(200);
    const second = start();
    expect(await second.exited()).toBe(1);
    expect(second.output()).toContain(`${path} is taken, choose another path with HEADGATE_LISTEN`);
    expect(await ask('203.0.113.9')).toBe(200);
  });
});

test('an unknown command is named', async () => {
  expect((await headgate(['serv'])).output).toContain('unknown command "serv"');
});

test('tells its version and its commands, with exit code 0', async () => {
  const { code, output } = await headgate(['--version']);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  expect((await headgate(['--help'])).output).toMatch(
    /serve[\s\S]*check[\s\S]*healthcheck[\s\S]*schema/,
  );
});

test('a taken port is named, with exit code 1', async () => {
  await using gateway = await startGatewayProcess();
  const { code, output } = await headgate([], {
    HEADGATE_PORT: String(gateway.port),
    HEADGATE_OPS_PORT: '0',
    HEADGATE_GRPC_PORT: 'off',
  });
  expect(code).toBe(1);
  expect(output).toContain(`port ${gateway.port} is taken`);
});

test('healthcheck asks the gateway of this machine', async () => {
  await using gateway = await startGatewayProcess();
  const opsPort = new URL(gateway.opsUrl).port;
  expect((await headgate(['healthcheck'], { HEADGATE_OPS_PORT: opsPort })).code).toBe(0);
  const unused = String(await freePort());
  expect((await headgate(['healthcheck'], { HEADGATE_OPS_PORT: unused })).code).toBe(1);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s stops it, with exit code 0', async (signal) => {
  const gateway = await startGatewayProcess();
  await call(gateway.url, '/envoy/');
  expect(await gateway.stop(signal)).toBe(0);
});
