/** What each command and a gateway load. Time and memory of a start are mostly loading. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { userEnvironment } from '../support/package.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/process.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const PRINT_PACKAGES = fileURLToPath(new URL('./support/print-packages.ts', import.meta.url));
const POLICIES = fileURLToPath(new URL('../../config/policies.yaml', import.meta.url));
const CONFIG = fileURLToPath(new URL('../../config', import.meta.url));
/** Half of what a gateway loads. */
const OF_GATEWAYS = ['fastify', 'ioredis', 'pino', 'prom-client'];
/** What Fastify loads to compile schemas. */
const OF_SCHEMAS = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'ajv'];

function start(args: readonly string[], settings: NodeJS.ProcessEnv = {}) {
  const env = { ...userEnvironment(NODE), ...settings };
  return startProcess(NODE, ['--import', PRINT_PACKAGES, MAIN, ...args], { env });
}

function packagesIn(output: string): string[] {
  const [line = '{}'] = /^\{"packages":.*/m.exec(output) ?? [];
  return JSON.parse(line).packages;
}

async function packagesOf(...args: string[]): Promise<string[]> {
  await using command = start(args);
  expect(await command.exited(), command.output()).toBe(0);
  return packagesIn(command.output());
}

async function packagesOfGateway(settings: NodeJS.ProcessEnv = {}): Promise<string[]> {
  await using gateway = start(['serve'], {
    HEADGATE_PORT: '0',
    HEADGATE_OPS_PORT: '0',
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_DRAIN_MS: '0',
    ...settings,
  });
  await gateway.printed(/proxies at http:/);
  expect(await gateway.stop()).toBe(0);
  return packagesIn(gateway.output());
}

const among = (names: readonly string[], packages: readonly string[]) =>
  names.filter((name) => packages.includes(name));

test('headgate --version loads the command line alone', async () => {
  expect(await packagesOf('--version')).toEqual(['commander']);
});

describe.each([
  ['--help'],
  ['check', POLICIES],
  ['test', CONFIG],
  ['schema'],
  ['schema', 'tests'],
  ['key', 'new', '--id', 'acme'],
  ['proxy-config', 'nginx'],
])('headgate %s', (...args) => {
  test('loads nothing that only gateways use', async () => {
    const packages = await packagesOf(...args);
    expect(packages).toContain('commander');
    expect(among([...OF_GATEWAYS, ...OF_SCHEMAS, 'undici'], packages)).toEqual([]);
  });
});

describe('a gateway', () => {
  test('that counts in memory loads no client of Redis', async () => {
    const packages = await packagesOfGateway();
    expect(among(OF_GATEWAYS, packages)).toEqual(['fastify', 'pino', 'prom-client']);
    expect(among([...OF_SCHEMAS, 'undici', '@opentelemetry/sdk-trace'], packages)).toEqual([]);
  });

  test('that counts in Redis loads the client', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const packages = await packagesOfGateway({ HEADGATE_REDIS_URL: url });
    expect(among(OF_GATEWAYS, packages)).toEqual(OF_GATEWAYS);
    expect(among([...OF_SCHEMAS, 'undici', '@opentelemetry/sdk-trace'], packages)).toEqual([]);
  });
});
