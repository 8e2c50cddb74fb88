/** The process as its operator meets it: start, refusal, exit codes, signals. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort, startProcess } from '../support/process.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'headgate-process-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function headgate(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  nodeOptions: readonly string[] = [],
) {
  const child = startProcess(process.execPath, [...nodeOptions, MAIN, ...args], {
    env: { ...process.env, ...env },
  });
  const code = await child.exited();
  return { code, output: child.output() };
}

test('says what it serves, where it counts, and what to try', async () => {
  await using gateway = await startGateway();
  expect(gateway.output()).toMatch(/proxies at http:\/\/127\.0\.0\.1:\d+ and operators at/);
  expect(gateway.output()).toContain('(login, register, upload, search, chat, default)');
  expect(gateway.output()).toContain('memory: counts of this process only');
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

  test.each([
    ['serve', ['serve', '--policies', path]],
    ['check', ['check', path]],
  ])('stops %s before anything listens, with every mistake and exit code 3', async (_, args) => {
    const { code, output } = await headgate(args);
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

test('check is content with a good file', async () => {
  const path = file('good.yaml', 'version: 1\ndefault: { limits: [5/5min] }\n');
  expect(await headgate(['check', path])).toEqual({
    code: 0,
    output: `${path}: fine, 1 policy\n`,
  });
});

test.each([[['serv']], [['serve', '--polices', 'x']], [['check']]])(
  '%j is a usage error: exit code 2',
  async (args) => {
    expect((await headgate(args)).code).toBe(2);
  },
);

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
  await using gateway = await startGateway();
  const { code, output } = await headgate([], {
    HEADGATE_PORT: String(gateway.port),
    HEADGATE_OPS_PORT: '0',
  });
  expect(code).toBe(1);
  expect(output).toContain(`port ${gateway.port} is taken`);
});

test('healthcheck asks the gateway of this machine', async () => {
  await using gateway = await startGateway();
  const opsPort = new URL(gateway.opsUrl).port;
  expect((await headgate(['healthcheck'], { HEADGATE_OPS_PORT: opsPort })).code).toBe(0);
  const unused = String(await freePort());
  expect((await headgate(['healthcheck'], { HEADGATE_OPS_PORT: unused })).code).toBe(1);
});

describe('an old Node, which cuts long header lists short,', () => {
  const pretending = (version: string) => [
    '--import',
    `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`,
  ];
  test.each(['20.20.2', '24.9.0', '24.18.0'])('is refused: %s', async (version) => {
    const { code, output } = await headgate(['--help'], {}, pretending(version));
    expect(code).toBe(1);
    expect(output).toContain(`headgate needs Node 24.18.1 or newer, this is ${version}`);
  });
  test.each(['24.18.1', '24.100.0', '26.0.0'])('is not %s', async (version) => {
    expect((await headgate(['--help'], {}, pretending(version))).code).toBe(0);
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s stops it, with exit code 0', async (signal) => {
  const gateway = await startGateway();
  await call(gateway.url, '/envoy/');
  expect(await gateway.stop(signal)).toBe(0);
});
