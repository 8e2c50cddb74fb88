/** The override store on a real Redis, read by gateways whose clocks differ. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  MAX_OVERRIDES,
  OverrideStoreFull,
  type StoredOverride,
} from '../../src/gateway/stores/overrides/override.ts';
import { RedisOverrideStore } from '../../src/gateway/stores/overrides/redis-override-store.ts';
import type { RedisClient } from '../../src/gateway/stores/redis/client.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { connectClient } from '../support/stores.ts';

const MINUTE_MS = 60_000;

describe.skipIf(!redisIsHere)('the override store in Redis', () => {
  let redis: TestRedis;
  let client: RedisClient;

  beforeAll(async () => {
    redis = await startRedis();
    client = await connectClient(redis.url);
  });
  afterAll(async () => {
    client?.disconnect();
    await redis?.[Symbol.asyncDispose]();
  });

  /** The store of a gateway whose clock is ahead. */
  function storeOf(aheadMs = 0) {
    const now = () => Date.now() + aheadMs;
    const overrideStore = new RedisOverrideStore({ client, deadlineMs: 1_000, now });
    const override = (about: string, forMs: number): StoredOverride => ({
      about,
      untilMs: now() + forMs,
      text: `text of ${about}`,
    });
    const leftOf = async (about: string) => {
      const found = (await overrideStore.read()).find(
        (each) => each.about === about && each.text !== '',
      );
      return found && Math.round((found.untilMs - now()) / MINUTE_MS);
    };
    return { overrideStore, override, leftOf };
  }

  test.each([15, -15])(
    'ends an override for all gateways at the same time if a clock is %i minutes off',
    async (minutes) => {
      await client.flushall();
      const [own, off] = [storeOf(), storeOf(minutes * MINUTE_MS)];
      await own.overrideStore.put(own.override('a', 10 * MINUTE_MS));
      await off.overrideStore.put(off.override('b', 10 * MINUTE_MS));
      for (const { leftOf } of [own, off]) {
        expect([await leftOf('a'), await leftOf('b')]).toEqual([10, 10]);
      }
      expect(Math.round((await client.pttl('hg:v1:notices')) / MINUTE_MS)).toBe(10);
    },
  );

  test.each([
    ['before', [60, 1]],
    ['after', [1, 60]],
  ] as const)('keeps a longer override that is put %s a shorter one', async (_, minutes) => {
    await client.flushall();
    const { overrideStore, override } = storeOf();
    for (const each of minutes) await overrideStore.put(override(`${each}`, each * MINUTE_MS));
    const ttlMs = () => client.pttl('hg:v1:notices');
    expect(Math.round((await ttlMs()) / MINUTE_MS)).toBe(60);
    await overrideStore.remove('1', '-a note');
    await overrideStore.remove('unknown', '-a note');
    expect(Math.round((await ttlMs()) / MINUTE_MS)).toBe(60);
  });

  test('returns the same overrides until one changes', async () => {
    await client.flushall();
    const { overrideStore, override } = storeOf(90_000);
    await overrideStore.put(override('a', MINUTE_MS));
    const first = await overrideStore.read();
    for (let i = 0; i < 20; i++) expect(await overrideStore.read()).toEqual(first);
  });

  test('restores lost overrides, but neither removed nor replaced ones', async () => {
    await client.flushall();
    const { overrideStore, override } = storeOf();
    const [a, b, c] = ['a', 'b', 'c'].map((about) => override(about, MINUTE_MS)) as [
      StoredOverride,
      StoredOverride,
      StoredOverride,
    ];
    await overrideStore.put(a);
    await overrideStore.put({ ...b, text: 'newer' });
    expect(await overrideStore.remove('a', '-a note')).toBe(true);
    expect(await overrideStore.remove('a', '-another')).toBe(false);
    await overrideStore.restoreLost([a, b, c]);
    const texts = new Map((await overrideStore.read()).map(({ about, text }) => [about, text]));
    expect(texts).toEqual(
      new Map([
        ['a', '-a note'],
        ['b', 'newer'],
        ['c', 'text of c'],
      ]),
    );
  });

  test('rejects further overrides when it is full', async () => {
    await client.flushall();
    const { overrideStore, override } = storeOf();
    const many = Array.from({ length: MAX_OVERRIDES }, (_, i) => override(`n${i}`, MINUTE_MS));
    await overrideStore.restoreLost(many);
    await expect(overrideStore.put(override('one more', MINUTE_MS))).rejects.toThrow(
      OverrideStoreFull,
    );
    await overrideStore.put(override('n7', 2 * MINUTE_MS));
    expect(await overrideStore.remove('n8', '-a note')).toBe(true);
    await overrideStore.put(override('one more', MINUTE_MS));
  });
});
