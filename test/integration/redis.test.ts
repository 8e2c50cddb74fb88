/** Gateways that share limits through a real Redis, which may fail and come back. */
import { describe, expect } from 'vitest';
import { DAY_MS } from '../../src/gateway/core/identity/salts.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, PATIENT, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { connectTo, startRedis, testWithOwnRedis, testWithRedis } from '../support/redis.ts';

/** Each step, on a busy machine. */
const WITHIN_MS = 60_000;

const login = (gateway: Gateway, key = 'alice') =>
  call(gateway.url, '/envoy/api/auth/login', { method: 'POST', headers: { 'x-api-key': key } });
const search = (gateway: Gateway) => call(gateway.url, '/envoy/api/search');

testWithRedis('two gateways share one limit exactly', async () => {
  await using redis = await startRedis();
  await using one = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: redis.url });
  await using two = await startGateway({ ...PATIENT, REDIS_URL: redis.url });
  const codes = await statuses(8, (i) => login(i % 2 === 0 ? one : two));
  expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
});

testWithRedis('two gateways share limits per address, because they share a salt', async () => {
  await using redis = await startRedis();
  await using one = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: redis.url });
  await using two = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: redis.url });
  const anonymous = (gateway: Gateway) =>
    call(gateway.url, '/envoy/api/auth/login', { method: 'POST' });
  const codes = await statuses(7, (i) => anonymous(i % 2 === 0 ? one : two));
  expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429]);
});

testWithRedis(
  'salts are 32 bytes, and Redis forgets each two days after its day began',
  async () => {
    await using redis = await startRedis();
    await using gateway = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: redis.url });
    const client = connectTo(redis);
    const names = (await client.keys('hg:v1:salt:1d:*')).sort();
    const midnightMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const days = [0, 1].map((days) => midnightMs + days * DAY_MS);
    expect(names).toEqual(
      days.map((startMs) => `hg:v1:salt:1d:${new Date(startMs).toISOString().slice(0, 10)}`),
    );
    for (const [i, name] of names.entries()) {
      expect(Buffer.from((await client.get(name)) ?? '', 'base64url')).toHaveLength(32);
      const goneMs = Date.now() + (await client.pttl(name));
      expect(Math.abs(goneMs - ((days[i] ?? 0) + 2 * DAY_MS))).toBeLessThan(60_000);
    }
    expect(gateway.output()).not.toContain('salts_not_shared');
    client.disconnect();
  },
);

testWithRedis('with a salt secret, gateways share salts without storing any in Redis', async () => {
  await using redis = await startRedis();
  const env = {
    HEADGATE_REDIS_URL: redis.url,
    ...PATIENT,
    HEADGATE_IP_SALT_SECRET: 'a secret of at least 32 characters',
  };
  await using one = await startGateway(env);
  await using two = await startGateway(env);
  const anonymous = (i: number) =>
    call(i % 2 === 0 ? one.url : two.url, '/envoy/api/auth/login', { method: 'POST' });
  expect(await statuses(6, anonymous)).toEqual([200, 200, 200, 200, 200, 429]);
  const client = connectTo(redis);
  expect(await client.keys('hg:v1:salt:*')).toEqual([]);
  client.disconnect();
});

testWithRedis('a gateway logs the address of its Redis without the password', async () => {
  await using redis = await startRedis();
  const url = redis.url.replace('redis://', 'redis://default:hunter2@');
  await using gateway = await startGateway({ HEADGATE_REDIS_URL: url });
  expect(gateway.output()).toContain(`Redis at 127.0.0.1:${redis.port}`);
  expect(gateway.output()).not.toContain('hunter2');
});

testWithRedis(
  'a database that does not exist is a failure; no other database is used',
  async () => {
    await using redis = await startRedis();
    await using gateway = await startGateway({ HEADGATE_REDIS_URL: `${redis.url}/99` });
    expect((await search(gateway)).headers['x-ratelimit-mode']).toBe('open');
    const client = connectTo(redis);
    expect(await client.dbsize()).toBe(0);
    client.disconnect();
    expect(gateway.output()).toContain('DB index is out of range');
  },
);

testWithRedis('requests are counted after the script cache was flushed', async () => {
  await using redis = await startRedis();
  await using gateway = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: redis.url });
  const client = connectTo(redis);
  expect(await statuses(3, () => login(gateway))).toEqual([200, 200, 200]);
  await client.script('FLUSH');
  expect(await statuses(3, () => login(gateway))).toEqual([200, 200, 429]);
  expect((await login(gateway)).headers['x-ratelimit-mode']).toBeUndefined();
  client.disconnect();
});

describe('while Redis is down or hangs,', () => {
  testWithOwnRedis(
    'a gateway starts, applies on_store_failure, and counts in Redis once it is up',
    async () => {
      const port = await freePort();
      await using gateway = await startGateway({ HEADGATE_REDIS_URL: `redis://127.0.0.1:${port}` });
      const open = await search(gateway);
      expect(open).toMatchObject({ status: 200, headers: { 'x-ratelimit-mode': 'open' } });
      expect(open.headers['x-ratelimit-remaining']).toBeUndefined();
      const local = await statuses(6, () => login(gateway));
      expect(local).toEqual([200, 200, 200, 200, 200, 429]);
      expect((await login(gateway)).headers['x-ratelimit-mode']).toBe('local');
      expect((await call(gateway.opsUrl, '/readyz')).body).toBe('{"status":"degraded"}');

      await using redis = await startRedis(port);
      const measured = await eventually(
        () => search(gateway),
        ({ headers }) => headers['x-ratelimit-mode'] === undefined,
        WITHIN_MS,
      );
      expect(measured.headers['x-ratelimit-limit']).toBe('100');
      expect(redis.port).toBe(port);
      await eventually(
        async () => (await search(gateway)) && call(gateway.opsUrl, '/readyz'),
        ({ body }) => body === '{"status":"ok"}',
        WITHIN_MS,
      );
    },
  );

  testWithOwnRedis(
    'gateways start, and share the limit of an address once Redis is up',
    async () => {
      const port = await freePort();
      const env = {
        HEADGATE_REDIS_URL: `redis://127.0.0.1:${port}`,
        // A busy machine delays the answers of Redis.
        HEADGATE_STORE_TIMEOUT_MS: '5000',
      };
      await using one = await startGateway(env);
      await using two = await startGateway(env);
      await using _redis = await startRedis(port);
      for (const gateway of [one, two]) {
        await eventually(
          () => search(gateway),
          ({ headers }) => headers['x-ratelimit-mode'] === undefined,
          WITHIN_MS,
        );
      }
      const anonymous = (gateway: Gateway) =>
        call(gateway.url, '/envoy/api/auth/login', { method: 'POST' });
      const codes = await statuses(8, (i) => anonymous(i % 2 === 0 ? one : two));
      expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    },
  );

  testWithOwnRedis(
    'requests do not wait, and none is counted twice when Redis goes on',
    async () => {
      await using redis = await startRedis();
      await using gateway = await startGateway({ HEADGATE_REDIS_URL: redis.url });
      await search(gateway);
      redis.signal('SIGSTOP');
      const answers = await Promise.all(Array.from({ length: 20 }, () => search(gateway)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(answers.every(({ headers }) => headers['x-ratelimit-mode'] === 'open')).toBe(true);
      redis.signal('SIGCONT');
      let sent = 1 + 20;
      const after = await eventually(
        () => {
          sent++;
          return search(gateway);
        },
        ({ headers }) => headers['x-ratelimit-remaining'] !== undefined,
        WITHIN_MS,
      );
      // Redis may have counted some of the twenty requests late.
      expect(100 - Number(after.headers['x-ratelimit-remaining'])).toBeLessThanOrEqual(sent);
      const { body } = await call(gateway.opsUrl, '/metrics');
      expect(body).toMatch(/^headgate_store_errors_total\{reason="timeout"\} \d+$/m);
      expect(gateway.output().match(/"event":"store_failed"/g)?.length).toBeLessThanOrEqual(2);
    },
  );

  testWithOwnRedis('a gateway gives Redis up, and uses it again when it answers', async () => {
    await using redis = await startRedis();
    await using gateway = await startGateway({ HEADGATE_REDIS_URL: redis.url });
    await search(gateway);
    redis.signal('SIGSTOP');
    const modes = new Set<unknown>();
    for (let i = 0; i < 40; i++) modes.add((await search(gateway)).headers['x-ratelimit-mode']);
    expect([...modes]).toEqual(['open']);
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toMatch(/headgate_store_given_up_total [1-9]/);
    // The other requests did not wait for Redis.
    expect(Number(/errors_total\{reason="timeout"\} (\d+)/.exec(body)?.[1])).toBeLessThan(20);
    redis.signal('SIGCONT');
    await eventually(
      () => search(gateway),
      ({ headers }) => headers['x-ratelimit-remaining'] !== undefined,
      WITHIN_MS,
    );
  });

  testWithOwnRedis(
    'four gateways divide a limit among themselves (on_store_failure: local)',
    async () => {
      await using redis = await startRedis();
      const gateways = await Promise.all(
        Array.from({ length: 4 }, () => startGateway({ HEADGATE_REDIS_URL: redis.url })),
      );
      for (const { opsUrl } of gateways) {
        await eventually(
          async () => JSON.parse((await call(opsUrl, '/stats')).body).gateways,
          (count) => count === 4,
          WITHIN_MS,
        );
      }
      redis.signal('SIGSTOP');
      const codes = await statuses(80, (i) => login(gateways[i % 4] as Gateway, `key ${i % 2}`));
      redis.signal('SIGCONT');
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      // Each of the two keys has a limit of 5. Unlisted keys also count for their address, which has twice that limit.
      const allowed = codes.filter((code) => code === 200).length;
      expect(allowed).toBeGreaterThan(0);
      expect(allowed).toBeLessThanOrEqual(10 * 1.25);
    },
  );

  testWithOwnRedis('a request waits as long as HEADGATE_STORE_TIMEOUT_MS allows', async () => {
    await using redis = await startRedis();
    await using gateway = await startGateway({
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_STORE_TIMEOUT_MS: '5000',
    });
    await using impatient = await startGateway({ HEADGATE_REDIS_URL: redis.url });
    await search(gateway);
    redis.signal('SIGSTOP');
    const answer = search(gateway);
    expect((await search(impatient)).headers['x-ratelimit-mode']).toBe('open');
    redis.signal('SIGCONT');
    expect((await answer).headers['x-ratelimit-remaining']).toBe('98');
  });

  testWithOwnRedis(
    'requests do not wait for the store timeout if their connection is reset',
    async () => {
      await using redis = await startRedis();
      await using gateway = await startGateway({ ...PATIENT, HEADGATE_REDIS_URL: redis.url });
      await search(gateway);
      await redis.stop('SIGKILL');
      const answers = await Promise.all(Array.from({ length: 10 }, () => search(gateway)));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      const { body } = await call(gateway.opsUrl, '/metrics');
      expect(body).not.toContain('headgate_store_errors_total{reason="timeout"}');
    },
  );
});
