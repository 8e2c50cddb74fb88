/** `headgate ratelimit` in the place of envoyproxy/ratelimit: a process with that program's environment. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { connectRateLimit, descriptor, type RateLimitClient } from '../support/rate-limits.ts';
import {
  connectTo,
  startRedisInFolder,
  temporaryFolder,
  testWithOwnRedis,
} from '../support/redis.ts';
import { IN_MEMORY } from '../support/redis-server.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const RULES = `
domain: edge
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;
const PASSWORD = 'pa/ss@word';

const scratch = mkdtempSync(join(tmpdir(), 'headgate-drop-in-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** As they find it: `RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/config`. */
function rulesIn(name: string, files: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const folder = join(scratch, name, 'config');
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return { RUNTIME_ROOT: scratch, RUNTIME_SUBDIRECTORY: name, USE_STATSD: 'false' };
}

/** Without what this machine sets. */
function start(env: NodeJS.ProcessEnv): RunningProcess {
  const { PATH, HOME } = process.env;
  return startProcess(NODE, [MAIN, 'ratelimit'], {
    env: { PATH, HOME, HEADGATE_DRAIN_MS: '0', ...env },
  });
}

interface DropIn extends AsyncDisposable {
  readonly running: RunningProcess;
  readonly jsonUrl: string;
  readonly opsUrl: string;
  readonly grpcPort: number;
}

/** On ports of this machine alone. */
async function startDropIn(env: NodeJS.ProcessEnv): Promise<DropIn> {
  const [json, grpcPort, ops] = [await freePort(), await freePort(), await freePort()];
  const running = start({
    HOST: '127.0.0.1',
    GRPC_HOST: '127.0.0.1',
    PORT: String(json),
    GRPC_PORT: String(grpcPort),
    DEBUG_HOST: '127.0.0.1',
    DEBUG_PORT: String(ops),
    ...(env.USE_PROMETHEUS === 'true' && { PROMETHEUS_ADDR: `127.0.0.1:${ops}` }),
    ...env,
  });
  await running.printed(/ {2}store .*\n/);
  const [jsonUrl, opsUrl] = [`http://127.0.0.1:${json}`, `http://127.0.0.1:${ops}`];
  const stop = () => running[Symbol.asyncDispose]();
  return { running, jsonUrl, opsUrl, grpcPort, [Symbol.asyncDispose]: stop };
}

/** As their clients write it. */
const asJson = (user: string) => ({
  method: 'POST',
  body: JSON.stringify({
    domain: 'edge',
    descriptors: [{ entries: [{ key: 'user', value: user }] }],
  }),
});
const ask = (client: RateLimitClient, user: string) =>
  client.ask({ domain: 'edge', descriptors: [descriptor({ user })] });

describe('in the place of envoyproxy/ratelimit', () => {
  testWithOwnRedis('counts in its Redis, on its ports, and says what has no effect', async () => {
    const folder = temporaryFolder();
    const port = await freePort();
    const args = [...IN_MEMORY, '--port', String(port), '--requirepass', PASSWORD];
    await using redis = await startRedisInFolder(folder, port, args);
    await using dropIn = await startDropIn({
      ...rulesIn('redis', { 'edge.yaml': RULES }),
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_TYPE: 'SINGLE',
      REDIS_URL: `127.0.0.1:${port}`,
      REDIS_AUTH: PASSWORD,
      REDIS_POOL_SIZE: '20',
      USE_PROMETHEUS: 'true',
      LOG_LEVEL: 'warning',
      HEADGATE_STORE_TIMEOUT_MS: '10000',
    });
    const { jsonUrl, opsUrl, grpcPort, running } = dropIn;
    const notes = running.output().match(/^headgate: .*(?:has no|have no|is not set).*$/gm);
    expect(notes).toEqual([
      expect.stringMatching(/^headgate: DEBUG_HOST and DEBUG_PORT have no effect: /),
      expect.stringMatching(/^headgate: HEADGATE_ADMIN_TOKEN is not set: 127\.0\.0\.1:\d+ shows/),
      expect.stringMatching(/^headgate: REDIS_POOL_SIZE has no effect: /),
    ]);
    expect(running.output()).not.toContain(PASSWORD);
    await eventually(
      () => call(opsUrl, '/readyz'),
      ({ body }) => !body.includes('degraded'),
      20_000,
      'Redis counts',
    );

    expect(await call(jsonUrl, '/healthcheck')).toMatchObject({ status: 200, body: 'OK' });
    expect(await statuses(3, () => call(jsonUrl, '/json', asJson('a')))).toEqual([200, 200, 429]);
    using client = connectRateLimit(grpcPort);
    // The same count.
    expect((await ask(client, 'a')).message?.overall_code).toBe('OVER_LIMIT');
    expect((await ask(client, 'b')).message?.overall_code).toBe('OK');
    const looking = connectTo({
      ...redis,
      url: `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    });
    expect((await looking.keys('hg:*')).length).toBeGreaterThan(0);
    looking.disconnect();

    const metrics = await call(opsUrl, '/metrics');
    expect(metrics.status).toBe(200);
    expect(metrics.body).toMatch(/^headgate_\w+.*\bedge\b.* [1-9]/m);
    // Nobody has its token.
    expect((await call(opsUrl, '/v1/overrides')).status).toBe(401);
    expect(await running.stop()).toBe(0);
  });

  testWithOwnRedis('is the user of REDIS_URL with the password of REDIS_AUTH', async () => {
    const folder = temporaryFolder();
    const port = await freePort();
    await using redis = await startRedisInFolder(folder, port, [...IN_MEMORY, '--port', `${port}`]);
    const looking = connectTo(redis);
    await looking.call('ACL', 'SETUSER', 'limits', 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
    const env = { ...rulesIn('user', { 'edge.yaml': RULES }), REDIS_AUTH: PASSWORD };
    await using dropIn = await startDropIn({
      ...env,
      REDIS_URL: `redis://limits@127.0.0.1:${port}`,
    });
    await eventually(
      async () => String(await looking.call('CLIENT', 'LIST')),
      (clients) => clients.includes('user=limits'),
    );
    expect(dropIn.running.output()).not.toContain(PASSWORD);
    looking.disconnect();
  });

  test('HOST, GRPC_HOST and DEBUG_HOST are for one port each', async () => {
    const hosts = { HOST: '127.0.0.2', GRPC_HOST: '127.0.0.3', DEBUG_HOST: '127.0.0.4' };
    await using dropIn = await startDropIn({
      ...rulesIn('hosts', { 'edge.yaml': RULES }),
      ...hosts,
    });
    const [json, ops] = [dropIn.jsonUrl, dropIn.opsUrl].map((url) => new URL(url).port);
    const isOpen = (host: string, port: unknown) =>
      new Promise<boolean>((resolve) => {
        const socket = connect({ host, port: Number(port) });
        socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
        socket.once('connect', () => socket.destroy());
      });
    const openAt = async (port: unknown) => {
      const found = await Promise.all(Object.values(hosts).map((host) => isOpen(host, port)));
      return Object.keys(hosts).filter((_, index) => found[index]);
    };
    expect(await openAt(json)).toEqual(['HOST']);
    expect(await openAt(dropIn.grpcPort)).toEqual(['GRPC_HOST']);
    expect(await openAt(ops)).toEqual(['DEBUG_HOST']);
  });

  test('a port for metrics is its debug port, unless it has one for Prometheus', async () => {
    await using dropIn = await startDropIn(rulesIn('debug', { 'edge.yaml': RULES }));
    expect((await call(dropIn.opsUrl, '/metrics')).body).toContain('headgate_');
    expect(dropIn.running.output()).toContain('REDIS_URL is not set');
  });

  test('in shadow mode it denies nothing', async () => {
    const env = { ...rulesIn('shadow', { 'edge.yaml': RULES }), SHADOW_MODE: 'true' };
    await using dropIn = await startDropIn(env);
    const asked = () => call(dropIn.jsonUrl, '/json', asJson('a'));
    expect(await statuses(4, asked)).toEqual([200, 200, 200, 200]);
  });
});

describe('what it does not start with', () => {
  test('wrong files: every mistake with its place', async () => {
    const env = rulesIn('wrong', {
      'edge.yaml': RULES.replace('hour', 'hours').replace('user', 'user\n    valeu: a'),
      'other.yaml': 'descriptors: []\n',
      'right.yaml': RULES.replace('edge', 'right'),
    });
    await using running = start(env);
    expect(await running.exited()).toBe(3);
    const folder = join(scratch, 'wrong/config');
    const lines = running.output().split('\n');
    const mistakes = lines.filter((line) => line.startsWith(folder));
    expect(mistakes.map((line) => line.slice(folder.length + 1))).toEqual([
      expect.stringMatching(/^edge\.yaml:5:5: descriptors\[0\]\.valeu: .*did you mean "value"\?$/),
      expect.stringMatching(/^edge\.yaml:6:25: descriptors\[0\]\.rate_limit\.unit: .*"hour"\?$/),
      expect.stringMatching(/^other\.yaml:1:1: domain: /),
    ]);
    expect(running.output()).toContain('headgate: 3 mistakes, nothing was started');
  });

  test('variables that headgate cannot replace: all of them, by their own names', async () => {
    await using running = start({
      BACKEND_TYPE: 'memcache',
      GRPC_SERVER_USE_TLS: 'true',
      REDIS_URL: 'a:1,b:2',
    });
    expect(await running.exited()).toBe(3);
    const names = running.output().match(/^[A-Z_]+(?=: )/gm);
    expect(names?.sort()).toEqual([
      'BACKEND_TYPE',
      'GRPC_SERVER_TLS_CERT',
      'GRPC_SERVER_TLS_KEY',
      'REDIS_URL',
    ]);
  });

  test('files of TLS that do not exist, or are no certificate', async () => {
    const certificate = join(scratch, 'some.crt');
    const env = {
      ...rulesIn('no-tls', { 'edge.yaml': RULES }),
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: certificate,
      GRPC_SERVER_TLS_KEY: certificate,
    };
    await using without = start(env);
    expect(await without.exited()).toBe(3);
    expect(without.output()).toContain(
      `${certificate}: does not exist; it is the certificate of the gRPC port`,
    );
    writeFileSync(certificate, 'nothing');
    await using wrong = start(env);
    expect(await wrong.exited()).toBe(3);
    expect(wrong.output()).toContain(`${certificate}: is no certificate with the key`);
  });
});

test('with TLS on the gRPC port, a client needs a certificate of its authority and the name', async () => {
  const authority = createAuthority(scratch);
  const server = authority.issue('server');
  const envoy = authority.issue('envoy', 'DNS:envoy');
  const other = authority.issue('other', 'DNS:other');
  const stranger = createAuthority(scratch, 'strange-ca').issue('stranger', 'DNS:envoy');
  const tls = {
    ...rulesIn('tls', { 'edge.yaml': RULES }),
    GRPC_SERVER_USE_TLS: 'true',
    GRPC_SERVER_TLS_CERT: server.certificate,
    GRPC_SERVER_TLS_KEY: server.key,
    GRPC_CLIENT_TLS_CACERT: authority.caFile,
  };
  const ca = readFileSync(authority.caFile);
  const shown = ({ key, certificate }: typeof envoy) =>
    credentials.createSsl(ca, readFileSync(key), readFileSync(certificate));
  const codeOf = async (port: number, ssl = credentials.createInsecure()) => {
    using client = connectRateLimit(port, ssl);
    return (await ask(client, 'a')).code;
  };
  const UNAVAILABLE = 14;

  await using any = await startDropIn(tls);
  expect(await codeOf(any.grpcPort, shown(envoy))).toBe(0);
  expect(await codeOf(any.grpcPort, shown(other))).toBe(0);
  expect(await codeOf(any.grpcPort, shown(stranger))).toBe(UNAVAILABLE);
  expect(await codeOf(any.grpcPort, credentials.createSsl(ca))).toBe(UNAVAILABLE);
  expect(await codeOf(any.grpcPort)).toBe(UNAVAILABLE);
  // It still answers.
  expect(await codeOf(any.grpcPort, shown(envoy))).toBe(0);

  await using named = await startDropIn({ ...tls, GRPC_CLIENT_TLS_SAN: 'envoy' });
  expect(await codeOf(named.grpcPort, shown(envoy))).toBe(0);
  expect(await codeOf(named.grpcPort, shown(other))).toBe(UNAVAILABLE);
});
