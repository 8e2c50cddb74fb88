/** Gateways on each kind of Redis: a cluster, sentinels, TLS, an account with few rights. */
import { copyFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, PATIENT, startGateway, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import {
  connectTo,
  startRedis,
  startRedisInFolder,
  temporaryFolder,
  testWithOwnRedis,
  testWithRedis,
} from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinel } from '../support/redis-sentinel.ts';
import { IN_MEMORY } from '../support/redis-server.ts';
import { startTlsRedis } from '../support/redis-tls.ts';
import { ACL_FILE, addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';

const login = (gateway: Gateway, address: string) =>
  call(gateway.url, '/envoy/api/auth/login', {
    method: 'POST',
    headers: { 'x-headgate-client-ip': address },
  });
const measured = (gateway: Gateway) => login(gateway, '203.0.113.250');
const isMeasured = ({ headers }: Awaited<ReturnType<typeof login>>) =>
  headers['x-ratelimit-mode'] === undefined;

/** Eight requests of a client, through two gateways in turn, of which the limit allows five. */
async function expectOneLimit(one: Gateway, two: Gateway): Promise<void> {
  for (const gateway of [one, two]) await eventually(() => measured(gateway), isMeasured, 30_000);
  for (let client = 1; client <= 5; client++) {
    const codes = await statuses(8, (i) => login(i % 2 ? one : two, `203.0.113.${client}`));
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  }
}

testWithOwnRedis('two gateways share one limit on a cluster', async () => {
  await using cluster = await startRedisCluster();
  const env = { ...PATIENT, HEADGATE_REDIS_URL: cluster.url };
  await using one = await startGateway(env);
  await using two = await startGateway(env);
  expect(one.output()).toContain('Redis Cluster at 127.0.0.1:');
  await expectOneLimit(one, two);
});

testWithOwnRedis('a gateway counts on the master that sentinels report', async () => {
  await using redis = await startRedisSentinel();
  await using gateway = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: redis.url });
  expect(gateway.output()).toContain('Redis, the master mymaster of the sentinels at 127.0.0.1:');
  expect(isMeasured(await measured(gateway))).toBe(true);
});

testWithOwnRedis(
  'TLS certificates are checked against the authorities that Node trusts',
  async () => {
    await using redis = await startTlsRedis();
    const env = { ...PATIENT, HEADGATE_REDIS_URL: redis.url };
    // Node reads this setting when it starts.
    await using trusting = await startGatewayProcess({ ...env, NODE_EXTRA_CA_CERTS: redis.caFile });
    await expectOneLimit(trusting, trusting);
    await using mistrusting = await startGateway(env);
    expect(isMeasured(await measured(mistrusting))).toBe(false);
  },
);

testWithOwnRedis('a gateway shows its certificate to a Redis that requires one', async () => {
  await using redis = await startTlsRedis({ authClients: 'yes' });
  const { certificate, key } = redis.issue('gateway');
  const trusting = {
    ...PATIENT,
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_REDIS_TLS_CA: redis.caFile,
  };
  const files = { HEADGATE_REDIS_TLS_CERT: certificate, HEADGATE_REDIS_TLS_KEY: key };
  await using known = await startGateway({ ...trusting, ...files });
  await expectOneLimit(known, known);
  await using unknown = await startGateway(trusting);
  expect(isMeasured(await measured(unknown))).toBe(false);
});

testWithOwnRedis('a certificate that is replaced applies to the next connection', async () => {
  await using redis = await startTlsRedis({ authClients: 'yes' });
  const folder = dirname(redis.caFile);
  const [certificate, key] = [join(folder, 'mounted.crt'), join(folder, 'mounted.key')];
  const stranger = createAuthority(folder, 'stranger-ca').issue('stranger');
  copyFileSync(stranger.certificate, certificate);
  copyFileSync(stranger.key, key);
  await using gateway = await startGateway({
    ...PATIENT,
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_REDIS_TLS_CA: redis.caFile,
    HEADGATE_REDIS_TLS_CERT: certificate,
    HEADGATE_REDIS_TLS_KEY: key,
  });
  expect(isMeasured(await measured(gateway))).toBe(false);
  const known = redis.issue('gateway');
  copyFileSync(known.certificate, certificate);
  copyFileSync(known.key, key);
  await eventually(() => measured(gateway), isMeasured, 30_000);
});

testWithOwnRedis('a server starts with the shipped ACL file', async () => {
  const port = await freePort();
  const args = ['--port', String(port), ...IN_MEMORY, '--aclfile', fileURLToPath(ACL_FILE)];
  await using redis = await startRedisInFolder(temporaryFolder(), port, args);
  await using gateway = await startGateway({
    ...PATIENT,
    HEADGATE_REDIS_URL: byShippedAccount(redis.url),
  });
  expect(isMeasured(await measured(gateway))).toBe(true);
});

testWithRedis('the shipped account has all the rights that a gateway needs', async () => {
  await using redis = await startRedis();
  await addShippedAccount(redis);
  const url = byShippedAccount(redis.url);
  await using one = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: url });
  await using two = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: url });
  await expectOneLimit(one, two);
  // Redis logs commands that the account may not use.
  const admin = connectTo(redis);
  expect(await admin.call('ACL', 'LOG')).toEqual([]);
  admin.disconnect();
});
