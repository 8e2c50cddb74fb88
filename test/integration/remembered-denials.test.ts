/** The denial cache with a real Redis: the calls that it saves, and that resets and reloads clear it. */
import { renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { overIoredis } from '../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../src/gateway/stores/redis/redis-store.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, PATIENT, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { connectTo, startRedis, type TestRedis, testWithRedis } from '../support/redis.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { connectClient } from '../support/stores.ts';

const ask = (gateway: Gateway, path = '/api/search') => call(gateway.url, `/envoy${path}`);

async function scriptCalls(redis: TestRedis): Promise<number> {
  const client = connectTo(redis);
  const stats = await client.info('commandstats');
  client.disconnect();
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

async function remembered(gateway: Gateway): Promise<number> {
  const { body } = await call(gateway.opsUrl, '/metrics');
  return Number(/^headgate_remembered_denials_total (\d+)$/m.exec(body)?.[1] ?? 0);
}

function start(env: NodeJS.ProcessEnv): Promise<Gateway> {
  return startGateway({ ...env, ...PATIENT });
}

/** Like `start`, but waits until denials are cached: the gateway subscribes to resets on a second connection. */
async function startRemembering(env: NodeJS.ProcessEnv): Promise<Gateway> {
  const gateway = await start(env);
  const headers = { 'x-headgate-client-ip': '192.0.2.1' };
  await eventually(
    async () => {
      await call(gateway.url, '/envoy/api/search', { headers });
      return remembered(gateway);
    },
    (count) => count > 0,
    30_000,
  );
  return gateway;
}

async function policyFile(policies: string) {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-denials-'));
  const path = join(folder, 'policies.yaml');
  const replace = (text: string) => {
    writeFileSync(`${path}.next`, text);
    renameSync(`${path}.next`, path);
  };
  replace(policies);
  return { path, replace, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

const oneLimit = (rate: string) => `{ version: 1, default: { limits: [${rate}] } }`;

testWithRedis('a client that keeps retrying costs Redis a few calls per second', async () => {
  await using redis = await startRedis();
  await using policies = await policyFile(oneLimit('3/1h'));
  await using gateway = await startRemembering({
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_POLICIES: policies.path,
  });
  await statuses(4, () => ask(gateway));
  const [callsBefore, rememberedBefore] = [await scriptCalls(redis), await remembered(gateway)];
  const startMs = performance.now();
  expect(new Set(await statuses(1_000, () => ask(gateway)))).toEqual(new Set([429]));
  const seconds = (performance.now() - startMs) / 1_000;
  const calls = (await scriptCalls(redis)) - callsBefore;
  expect(calls).toBeLessThanOrEqual(2 * seconds + 2);
  expect((await remembered(gateway)) - rememberedBefore).toBe(1_000 - calls);
});

testWithRedis('Retry-After of a cached denial counts down', async () => {
  await using redis = await startRedis();
  await using policies = await policyFile(oneLimit('1/3s'));
  await using gateway = await startRemembering({
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_POLICIES: policies.path,
  });
  const timed = async () => {
    const askedMs = performance.now();
    const { status, headers } = await ask(gateway);
    const answeredMs = performance.now();
    return { status, retryAfter: Number(headers['retry-after']), askedMs, answeredMs };
  };
  const first = await timed();
  const answers: Awaited<ReturnType<typeof timed>>[] = [];
  const admitted = await eventually(
    async () => {
      const answer = await timed();
      if (answer.status === 429) answers.push(answer);
      return answer;
    },
    ({ status }) => status === 200,
    30_000,
  );
  expect(admitted.answeredMs - first.askedMs).toBeGreaterThanOrEqual(2_999);
  expect(answers.length).toBeGreaterThan(0);
  // Redis counted the first request between its start and its answer. A cached denial is older by one round trip.
  const longestMs = Math.max(...answers.map((each) => each.answeredMs - each.askedMs));
  for (const { retryAfter, askedMs, answeredMs } of answers) {
    const leastMs = Math.max(1, 3_000 - (answeredMs - first.askedMs));
    const mostMs = 3_000 - (askedMs - first.answeredMs) + longestMs;
    expect(retryAfter).toBeGreaterThanOrEqual(Math.ceil(leastMs / 1_000));
    expect(retryAfter).toBeLessThanOrEqual(Math.ceil(mostMs / 1_000));
  }
});

testWithRedis('a reset clears the cached denials of every gateway', async () => {
  await using redis = await startRedis();
  await using policies = await policyFile(oneLimit('2/1h'));
  const env = { HEADGATE_REDIS_URL: redis.url, HEADGATE_POLICIES: policies.path };
  await using one = await startRemembering(env);
  await using two = await startRemembering(env);
  await using lab = new AsyncDisposableStack();
  const admin = lab.adopt(connectTo(redis), (client) => client.disconnect());
  const client = lab.adopt(await connectClient(redis.url), (open) => open.disconnect());
  const store = new RedisStore({
    connection: overIoredis(client),
    inFlight: createInFlight(10),
    deadlineMs: 10_000,
  });
  // The clock of the caches stands still, so no cached denial expires.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  lab.defer(() => clock.mockRestore());
  for (let round = 0; round < 5; round++) {
    expect(await statuses(6, (i) => ask(i % 2 ? one : two))).toEqual([
      200, 200, 429, 429, 429, 429,
    ]);
    const keys = (await admin.keys('*')).filter((key) => key.includes(':default:'));
    await store.reset(keys);
    // The announcement and the next request are on different connections.
    for (const gateway of [one, two]) {
      await eventually(
        () => ask(gateway),
        ({ status }) => status === 200,
        30_000,
      );
    }
    await store.reset(keys);
  }
});

testWithRedis('a raised limit applies as soon as the file is reloaded', async () => {
  await using redis = await startRedis();
  await using policies = await policyFile(oneLimit('2/1h'));
  const env = { ...PATIENT, HEADGATE_REDIS_URL: redis.url, HEADGATE_POLICIES: policies.path };
  await using gateway = await startGateway(env, { reloads: true });
  expect(await statuses(4, () => ask(gateway))).toEqual([200, 200, 429, 429]);
  policies.replace(oneLimit('3/1h'));
  await gateway.printed(/policies_loaded/);
  expect(await statuses(2, () => ask(gateway))).toEqual([200, 429]);
  policies.replace(`{ version: 1 } # ${'longer than before '.repeat(5)}`);
  await gateway.printed(/policies_refused.*default: is missing/);
  expect((await ask(gateway)).headers['x-ratelimit-limit']).toBe('3');
});

testWithRedis('without the denial cache, every request reaches Redis', async () => {
  await using redis = await startRedis();
  await using gateway = await start({
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_REMEMBERED_DENIALS: '0',
  });
  const login = () => call(gateway.url, '/envoy/api/auth/login', { method: 'POST' });
  await statuses(5, login);
  const before = await scriptCalls(redis);
  await statuses(50, login);
  expect((await scriptCalls(redis)) - before).toBe(50);
});

testWithRedis(
  'a gateway without the right to the reset channel works, and caches no denials',
  async () => {
    await using redis = await startRedis();
    await addShippedAccount(redis);
    await using policies = await policyFile(oneLimit('2/1h'));
    await using gateway = await start({
      HEADGATE_REDIS_URL: byShippedAccount(redis.url),
      HEADGATE_POLICIES: policies.path,
    });
    const admin = connectTo(redis);
    // Redis closes subscriptions that the account may no longer have, and refuses new ones.
    await admin.call('ACL', 'SETUSER', 'headgate', 'resetchannels');
    admin.disconnect();
    await gateway.printed(/others_unheard/);
    expect(await statuses(4, () => ask(gateway))).toEqual([200, 200, 429, 429]);
    const before = await scriptCalls(redis);
    await statuses(10, () => ask(gateway));
    expect((await scriptCalls(redis)) - before).toBe(10);
  },
);

testWithRedis(
  'with the right to the reset channel alone, denials are cached and overrides apply',
  async () => {
    await using redis = await startRedis();
    await addShippedAccount(redis);
    const admin = connectTo(redis);
    const rules = ['resetchannels', '&hg:v1:reset', '-scan', '-dbsize', '-memory'];
    await admin.call('ACL', 'SETUSER', 'headgate', ...rules);
    admin.disconnect();
    await using policies = await policyFile(oneLimit('2/1h'));
    await using gateway = await startRemembering({
      HEADGATE_REDIS_URL: byShippedAccount(redis.url),
      HEADGATE_POLICIES: policies.path,
    });
    await gateway.printed(/others_unheard/);
    expect(await statuses(3, () => ask(gateway))).toEqual([200, 200, 429]);
    const before = await remembered(gateway);
    await statuses(50, () => ask(gateway));
    expect(await remembered(gateway)).toBeGreaterThan(before);
    const answer = await call(gateway.opsUrl, '/v1/clients/block', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client: '127.0.0.1', for: '1h', reason: 'a test' }),
    });
    expect(answer.status).toBe(200);
    expect((await ask(gateway)).status).toBe(403);
  },
);
