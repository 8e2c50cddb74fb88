import { describe, expect, test } from 'vitest';
import type { SettlementStore } from '../../../../src/gateway/core/counting/settlement.ts';
import type { Descriptor, QuotaStore } from '../../../../src/gateway/core/counting/store.ts';
import { DenialCache } from '../../../../src/gateway/stores/denial-cache.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { descriptorOf } from '../../../support/quotas.ts';
import { NOON_MS } from '../../../support/requests.ts';

const W = 60_000;

function setUp({ maxEntries = 100 } = {}) {
  // Two clocks: the store's own may be set, the other one never is.
  const clock = { storeMs: NOON_MS, ms: 0 };
  const memory = new MemoryStore({ now: () => clock.storeMs, maxKeys: 100_000 });
  let asked = 0;
  let beforeAnswer = () => {};
  const store: QuotaStore & SettlementStore = {
    take: async (descriptors) => {
      asked++;
      const result = await memory.take(descriptors);
      beforeAnswer();
      return result;
    },
    reset: (keys) => memory.reset(keys),
    settle: (settlement) => memory.settle(settlement),
  };
  const cache = new DenialCache({ store, now: () => clock.ms, maxEntries });
  cache.enable();
  return {
    cache,
    memory,
    clock,
    asked: () => asked,
    pass(ms: number) {
      clock.ms += ms;
      clock.storeMs += ms;
    },
    whileAsking(event: () => void) {
      beforeAnswer = event;
    },
  };
}

const LIMIT_1 = descriptorOf('a', { limit: 1, windowMs: W });

async function deny(cache: DenialCache, descriptors: readonly Descriptor[] = [LIMIT_1]) {
  await cache.take(descriptors);
  expect((await cache.take(descriptors)).admitted).toBe(false);
}

test('denies again without calling the store', async () => {
  const { cache, asked } = setUp();
  await deny(cache);
  for (let i = 0; i < 1_000; i++) expect((await cache.take([LIMIT_1])).admitted).toBe(false);
  expect(asked()).toBe(2);
});

test('a cached answer equals the answer of the store', async () => {
  const { cache, memory, pass } = setUp();
  const wide = descriptorOf('b', { limit: 9, windowMs: W });
  await deny(cache, [LIMIT_1, wide]);
  for (let i = 0; i < 4; i++) {
    pass(100);
    expect(await cache.take([LIMIT_1, wide])).toEqual(await memory.take([LIMIT_1, wide]));
  }
});

test('a client that keeps retrying costs the store two requests per second', async () => {
  const { cache, asked, pass } = setUp();
  await deny(cache);
  for (let i = 0; i < 10_000; i++) {
    await cache.take([LIMIT_1]);
    pass(1);
  }
  expect(asked()).toBe(2 + 19);
});

test('never denies a request that the store would admit: every millisecond of a minute', async () => {
  const { cache, pass } = setUp();
  await deny(cache);
  let admittedAfterMs = 0;
  for (; !(await cache.take([LIMIT_1])).admitted; admittedAfterMs++) pass(1);
  expect(admittedAfterMs).toBe(W);
});

test('never denies a request that the store would admit: fractions of a millisecond', async () => {
  const { cache, clock } = setUp();
  const short = descriptorOf('a', { limit: 1, windowMs: 100 });
  await cache.take([short]);
  // The store is asked at the end of a millisecond, of which its clock knows the beginning only.
  clock.ms = 0.9;
  expect((await cache.take([short])).admitted).toBe(false);
  clock.storeMs += 100;
  clock.ms = 100.1;
  expect((await cache.take([short])).admitted).toBe(true);
});

test('a refund is seen within half a second', async () => {
  const { cache, memory, pass } = setUp();
  await deny(cache);
  await memory.take([{ ...LIMIT_1, cost: -1 }]);
  pass(499);
  expect((await cache.take([LIMIT_1])).admitted).toBe(false);
  pass(1);
  expect((await cache.take([LIMIT_1])).admitted).toBe(true);
});

test('a refund reaches the store, whatever is cached for its key', async () => {
  const { cache, memory } = setUp();
  await deny(cache);
  expect((await cache.take([{ ...LIMIT_1, cost: -1 }])).admitted).toBe(true);
  expect((await memory.peek([LIMIT_1])).states[0]?.remaining).toBe(1);
});

test('a denied check is cached, and answers no request that takes units', async () => {
  const { cache, memory, asked } = setUp();
  const check = { ...LIMIT_1, cost: 0 };
  await memory.take([LIMIT_1]);
  for (let i = 0; i < 5; i++) expect((await cache.take([check])).admitted).toBe(false);
  expect(asked()).toBe(1);
  await memory.take([{ ...LIMIT_1, cost: -1 }]);
  expect((await cache.take([LIMIT_1])).admitted).toBe(true);
});

test('requests of a fixed window that counts rejected ones always reach the store', async () => {
  const { cache, asked } = setUp();
  const fixed = { limit: 1, windowMs: W, algorithm: 'fixed-window', countRejected: true } as const;
  for (let i = 0; i < 5; i++) await cache.take([descriptorOf('a', fixed)]);
  expect(asked()).toBe(5);
});

describe('the store is called again', () => {
  test('for the same key under another limit', async () => {
    const { cache } = setUp();
    await deny(cache);
    const raised = descriptorOf('a', { limit: 2, windowMs: W });
    expect((await cache.take([raised])).admitted).toBe(true);
  });

  test('under a reloaded limit, even if it is unchanged', async () => {
    const { cache, asked } = setUp();
    await deny(cache);
    await cache.take([{ ...LIMIT_1, quota: { ...LIMIT_1.quota } }]);
    expect(asked()).toBe(3);
  });

  test('for a request with another cost under the very same quota', async () => {
    const { cache, memory, asked } = setUp();
    const three = descriptorOf('a', { limit: 3, windowMs: W });
    await memory.take([{ ...three, cost: 2 }]);
    expect((await cache.take([{ ...three, cost: 2 }])).admitted).toBe(false);
    expect((await cache.take([three])).admitted).toBe(true);
    expect(asked()).toBe(2);
  });

  test('for a request with another cost', async () => {
    const { cache } = setUp();
    const limit = { limit: 3, windowMs: W };
    await deny(cache, [descriptorOf('a', { ...limit, cost: 2 })]);
    expect((await cache.take([descriptorOf('a', limit)])).admitted).toBe(true);
  });

  test('if the denied limit is only one of several limits of a request', async () => {
    const { cache, asked } = setUp();
    await deny(cache);
    const other = descriptorOf('b', { limit: 9, windowMs: W });
    const { admitted, states } = await cache.take([other, LIMIT_1]);
    expect(admitted).toBe(false);
    expect(states[0]?.remaining).toBe(9);
    expect(asked()).toBe(3);
  });

  test('after a reset', async () => {
    const { cache } = setUp();
    await deny(cache);
    await cache.reset(['a']);
    expect((await cache.take([LIMIT_1])).admitted).toBe(true);
  });

  test('after a reset that came during the call', async () => {
    const { cache, memory, whileAsking } = setUp();
    await cache.take([LIMIT_1]);
    whileAsking(() => {
      void memory.reset(['a']);
      cache.forget();
    });
    expect((await cache.take([LIMIT_1])).admitted).toBe(false);
    expect((await cache.take([LIMIT_1])).admitted).toBe(true);
  });

  test('half a second after its clock was set forward or its counters were lost', async () => {
    const { cache, clock, memory } = setUp();
    await deny(cache);
    clock.storeMs += W;
    clock.ms += 500;
    expect((await cache.take([LIMIT_1])).admitted).toBe(true);
    await deny(cache);
    await memory.reset(['a']);
    clock.ms += 500;
    expect((await cache.take([LIMIT_1])).admitted).toBe(true);
  });

  test('while resets cannot be received', async () => {
    const { cache, asked } = setUp();
    await deny(cache);
    cache.disable();
    for (let i = 0; i < 10; i++) await cache.take([LIMIT_1]);
    expect(asked()).toBe(12);
    cache.enable();
    for (let i = 0; i < 10; i++) await cache.take([LIMIT_1]);
    expect(asked()).toBe(13);
  });

  test('every time with count_rejected', async () => {
    const { cache, asked } = setUp();
    const strict = descriptorOf('a', { limit: 1, windowMs: W, countRejected: true });
    for (let i = 0; i < 10; i++) await cache.take([strict]);
    expect(asked()).toBe(10);
  });
});

test('a denial is valid from the call on, and counts down from the answer on', async () => {
  const { cache, clock, whileAsking } = setUp();
  const short = descriptorOf('a', { limit: 1, windowMs: 300 });
  await cache.take([short]);
  whileAsking(() => {
    clock.ms += 50;
  });
  await cache.take([short]);
  whileAsking(() => {});
  // 250 ms after the answer the store may admit; who is told now is told what was left when it arrived.
  clock.ms += 100;
  expect((await cache.take([short])).states[0]?.retryAfterMs).toBe(200);
  clock.ms += 150;
  clock.storeMs += 300;
  expect((await cache.take([short])).admitted).toBe(true);
});

describe('a cached wait was true at most half a second ago', () => {
  const own = descriptorOf('own', { limit: 2, windowMs: 1_000 });
  const shared = descriptorOf('shared', { limit: 10, windowMs: 30_000 });
  const longestWaitMs = async (cache: DenialCache) => {
    const { states } = await cache.take([own, shared]);
    return Math.max(...states.map((state) => state?.retryAfterMs ?? 0));
  };

  test('if other clients use up a shared limit', async () => {
    const { cache, memory, pass } = setUp();
    for (let i = 0; i < 2; i++) await cache.take([own, shared]);
    expect(await longestWaitMs(cache)).toBe(1_000);
    for (let i = 0; i < 8; i++) memory.take([shared]);
    pass(499);
    expect(await longestWaitMs(cache)).toBe(501);
    pass(1);
    expect(await longestWaitMs(cache)).toBe(29_500);
  });

  test('if the clock of the store is set back: a client waits half a second longer', async () => {
    const { cache, clock, pass } = setUp();
    await deny(cache);
    clock.storeMs -= 90_000;
    let waitedMs = 0;
    for (; !(await cache.take([LIMIT_1])).admitted; waitedMs++) pass(1);
    expect(waitedMs).toBe(W + 500);
  });
});

test('a flood of resets costs nothing and needs no memory', async () => {
  const { cache, asked } = setUp();
  await deny(cache);
  for (let i = 0; i < 1_000_000; i++) cache.forget();
  await deny(cache, [descriptorOf('b', { limit: 1, windowMs: W })]);
  const before = asked();
  expect((await cache.take([LIMIT_1])).admitted).toBe(false);
  expect((await cache.take([LIMIT_1])).admitted).toBe(false);
  expect(asked() - before).toBe(1);
});

test('holds at most the maximum number of entries', async () => {
  const { cache, asked } = setUp({ maxEntries: 10 });
  const limits = Array.from({ length: 100 }, (_, i) =>
    descriptorOf(`client ${i}`, { limit: 1, windowMs: W }),
  );
  for (const limit of limits) await deny(cache, [limit]);
  const before = asked();
  for (const limit of limits) await cache.take([limit]);
  expect(asked() - before).toBeGreaterThanOrEqual(90);
});

test('errors of the store are passed on', async () => {
  const store: QuotaStore & SettlementStore = {
    take: () => Promise.reject(new Error('away')),
    settle: () => Promise.reject(new Error('away')),
    reset: () => Promise.reject(new Error('away')),
  };
  const cache = new DenialCache({ store, now: () => 0, maxEntries: 10 });
  await expect(cache.take([LIMIT_1])).rejects.toThrow('away');
  await expect(cache.reset(['a'])).rejects.toThrow('away');
});

describe('a settlement', () => {
  const owned = (key: string) => ({ ...LIMIT_1, key, givesBack: true }) as const;
  const settlementOf = (key: string, used: number) => {
    const { quota } = owned(key);
    const part = { key, quota, momentMs: NOON_MS, reserved: 1, used };
    return { id: key + used, endsMs: NOON_MS + W, parts: [part] };
  };

  test('of this gateway ends the denials of its keys at once, and no others', async () => {
    const { cache, asked } = setUp();
    for (const key of ['a', 'b']) await deny(cache, [owned(key)]);
    await cache.settle(settlementOf('a', 0));
    const before = asked();
    expect((await cache.take([owned('b')])).admitted).toBe(false);
    expect(asked()).toBe(before);
    expect((await cache.take([owned('a')])).admitted).toBe(true);
    // Denials of later calls are cached again.
    expect((await cache.take([owned('a')])).admitted).toBe(false);
    const later = asked();
    expect((await cache.take([owned('a')])).admitted).toBe(false);
    expect(asked()).toBe(later);
  });

  test('ends denials of requests with several limits, one of which it gives back to', async () => {
    const { cache } = setUp();
    await deny(cache, [LIMIT_1, owned('b')]);
    await cache.settle(settlementOf('b', 0));
    await cache.reset(['a']);
    expect((await cache.take([LIMIT_1, owned('b')])).admitted).toBe(true);
  });

  test('that gives nothing back ends no denial', async () => {
    const { cache, asked } = setUp();
    await deny(cache, [owned('a')]);
    await cache.settle(settlementOf('a', 1));
    const before = asked();
    await cache.take([owned('a')]);
    expect(asked()).toBe(before);
  });

  test('that is answered while the store denies outdates that denial', async () => {
    const { cache, asked, whileAsking } = setUp();
    await cache.take([owned('a')]);
    let settled: unknown;
    whileAsking(() => {
      settled = cache.settle(settlementOf('a', 0));
      whileAsking(() => {});
    });
    expect((await cache.take([owned('a')])).admitted).toBe(false);
    await settled;
    const before = asked();
    expect((await cache.take([owned('a')])).admitted).toBe(true);
    expect(asked()).toBe(before + 1);
  });

  test('that fails may have been counted all the same', async () => {
    const { cache, asked } = setUp();
    await deny(cache, [owned('a')]);
    const { parts, ...settlement } = settlementOf('a', 0);
    const broken = { ...settlement, parts: parts.map((part) => ({ ...part, quota: undefined })) };
    await expect(cache.settle(broken as never)).rejects.toThrow();
    const before = asked();
    await cache.take([owned('a')]);
    expect(asked()).toBe(before + 1);
  });

  test('of many keys needs no more memory: all denials are forgotten now and then', async () => {
    const { cache, asked } = setUp();
    await deny(cache, [owned('a')]);
    for (let i = 0; i < 10_001; i++) await cache.settle(settlementOf(`other ${i}`, 0));
    const before = asked();
    await cache.take([owned('a')]);
    expect(asked()).toBe(before);
    await cache.settle(settlementOf('one more', 0));
    await cache.take([owned('a')]);
    expect(asked()).toBe(before + 1);
  });
});
