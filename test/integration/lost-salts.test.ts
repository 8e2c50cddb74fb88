/** A real Redis that loses the salts while gateways run: counters and overrides of clients stay what they are. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Gateway, PATIENT, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import {
  connectTo,
  ownRedisIsHere,
  redisIsHere,
  startRedis,
  testWithOwnRedis,
  testWithRedis,
} from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { lookAt } from '../support/redis-node.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';

/** Each step, on a busy machine. */
const WITHIN_MS = 60_000;
const SALTS = 'hg:v1:salt:*';
const KEPT = 'hg:v1:salt:kept';

const folder = mkdtempSync(join(tmpdir(), 'headgate-lost-salts-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'policies.yaml');
writeFileSync(
  file,
  `
version: 1
identity: { sources: [user, ip], trusted_proxies: [loopback], user: { header: x-user } }
default: { limits: [5/1h] }
policies:
  - { name: weekly, match: { path: /weekly }, limits: [5/7d] }
  - { name: tenant, match: { path: /tenant }, limits: [{ rate: 5/1h, per: 'header:x-tenant' }] }
`,
);

const gatewayOn = (url: string) =>
  startGateway({ ...PATIENT, HEADGATE_REDIS_URL: url, HEADGATE_POLICIES: file });

type Visit = readonly [path: string, headers: Record<string, string>];
/** One client for each kind of name. */
const VISITS: readonly Visit[] = [
  ['/', { 'x-headgate-client-ip': '203.0.113.9' }],
  ['/weekly', { 'x-headgate-client-ip': '203.0.113.10' }],
  ['/', { 'x-headgate-client-ip': '203.0.113.11', 'x-user': '7301942' }],
  ['/tenant', { 'x-headgate-client-ip': '203.0.113.12', 'x-tenant': 'acme' }],
];

const send = (gateway: Gateway, [path, headers]: Visit) =>
  call(gateway.url, `/envoy${path}`, { headers });

async function useUp(gateway: Gateway): Promise<void> {
  for (const visit of VISITS) {
    expect(await statuses(5, () => send(gateway, visit))).toEqual(Array(5).fill(200));
  }
}

/** Not one request more is admitted, by any of the gateways. */
async function expectUsedUp(...gateways: readonly Gateway[]): Promise<void> {
  for (const visit of VISITS) {
    const codes = await statuses(2 * gateways.length, (i) =>
      send(gateways[i % gateways.length] as Gateway, visit),
    );
    expect(codes, visit[0]).toEqual(codes.map(() => 429));
  }
}

/** By name. */
async function saltsIn(client: Redis): Promise<Record<string, string | null>> {
  const names = (await client.keys(SALTS)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await client.get(name)] as const)),
  );
}

/** Fills a Redis that evicts until none of these keys is left. */
async function flood(client: Redis, names: readonly string[]): Promise<void> {
  await client.config('SET', 'maxmemory', '4mb');
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const junk = 'x'.repeat(10_000);
  for (let round = 0; round < 1_000; round++) {
    const filling = client.pipeline();
    for (let i = 0; i < 50; i++) filling.set(`flood:${round}:${i}`, junk);
    await filling.exec();
    if ((await client.exists(...names)) > 0) continue;
    // The counters of the test must stay.
    await client.config('SET', 'maxmemory', '0');
    return;
  }
  throw new Error('the flood must evict the salts');
}

/** How Redis may lose the salts. */
const LOSSES: Readonly<Record<string, (client: Redis) => Promise<unknown>>> = {
  'FLUSHALL has deleted everything': (client) => client.flushall(),
  'the salts were deleted': async (client) => client.del(...(await client.keys(SALTS))),
  'a flood has evicted the salts': async (client) => flood(client, await client.keys(SALTS)),
};

describe('a gateway that starts counts on with the salts of the gateway that runs', () => {
  testWithOwnRedis.for(Object.entries(LOSSES))('after %s', async ([, lose]) => {
    await using redis = await startRedis();
    const client = connectTo(redis);
    try {
      await using one = await gatewayOn(redis.url);
      const before = await saltsIn(client);
      await lose(client);
      await useUp(one);
      await using two = await gatewayOn(redis.url);
      await expectUsedUp(one, two);
      expect(await saltsIn(client)).toEqual(before);
    } finally {
      client.disconnect();
    }
  });

  test.skipIf(!ownRedisIsHere)('in a cluster', async () => {
    await using cluster = await startRedisCluster();
    await using one = await gatewayOn(cluster.url);
    for (const node of cluster.nodes) {
      const client = lookAt(node);
      await client.flushall();
      client.disconnect();
    }
    await useUp(one);
    await using two = await gatewayOn(cluster.url);
    await expectUsedUp(one, two);
  });
});

describe.skipIf(!redisIsHere)('salts that Redis lost', () => {
  test('are written back by a gateway that runs, with the end that they had', async () => {
    await using redis = await startRedis();
    const client = connectTo(redis);
    await using _gateway = await gatewayOn(redis.url);
    const before = await saltsIn(client);
    const ending = Object.keys(before).filter((name) => name !== KEPT);
    const ends = async () =>
      Promise.all(ending.map(async (name) => Date.now() + (await client.pttl(name))));
    const endsBefore = await ends();
    await client.flushall();
    const after = await eventually(
      () => saltsIn(client),
      (salts) => Object.keys(salts).length === Object.keys(before).length,
      WITHIN_MS,
    );
    expect(after).toEqual(before);
    for (const [i, endMs] of (await ends()).entries()) {
      expect(Math.abs(endMs - (endsBefore[i] ?? 0))).toBeLessThan(60_000);
    }
    expect(await client.pttl(KEPT)).toBe(-1);
    client.disconnect();
  });
});

testWithRedis('an override of a user holds on a gateway that starts after a FLUSHALL', async () => {
  await using redis = await startRedis();
  await using one = await gatewayOn(redis.url);
  const blocked = await call(one.opsUrl, '/v1/clients/block', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client: 'user:bob', for: '1h', reason: 'abuse' }),
  });
  expect(blocked.status).toBe(200);
  const client = connectTo(redis);
  await client.flushall();
  client.disconnect();
  await using two = await gatewayOn(redis.url);
  const bob: Visit = ['/', { 'x-user': 'bob' }];
  expect((await send(one, bob)).status).toBe(403);
  await eventually(
    () => send(two, bob),
    ({ status }) => status === 403,
    WITHIN_MS,
  );
});

testWithOwnRedis(
  'a gateway that started without Redis takes on the salts of the one that ran before',
  async () => {
    const port = await freePort();
    await using redis = await startRedis(port);
    await using one = await gatewayOn(redis.url);
    const first = connectTo(redis);
    const before = await saltsIn(first);
    first.disconnect();
    await redis.stop('SIGKILL');
    await using two = await gatewayOn(redis.url);
    await using again = await startRedis(port);
    const client = connectTo(again);
    for (const gateway of [one, two]) {
      await eventually(
        () => send(gateway, ['/', { 'x-user': 'any' }]),
        ({ headers }) => headers['x-ratelimit-mode'] === undefined,
        WITHIN_MS,
      );
    }
    expect(await saltsIn(client)).toEqual(before);
    await useUp(one);
    await expectUsedUp(one, two);
    client.disconnect();
  },
);

testWithRedis('an account that may not publish agrees on salts all the same', async () => {
  await using redis = await startRedis();
  await addShippedAccount(redis);
  const client = connectTo(redis);
  await client.call('ACL', 'SETUSER', 'headgate', '-publish');
  const url = byShippedAccount(redis.url);
  await using one = await gatewayOn(url);
  await using two = await gatewayOn(url);
  await useUp(one);
  await expectUsedUp(one, two);
  client.disconnect();
});
