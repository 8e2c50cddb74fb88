import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { describeQuotaStore } from '../../../contract/quota-store.contract.ts';
import { expectOneName } from '../../../contract/renamed-address.contract.ts';
import { descriptorOf } from '../../../support/quotas.ts';
import { openMemoryStore } from '../../../support/stores.ts';

describe('the memory store', () => {
  describeQuotaStore(() => openMemoryStore());

  test('limits of addresses decide as if addresses kept their names', () =>
    expectOneName(openMemoryStore, openMemoryStore, { runs: 100, hasSlots: false }));

  test('holds at most maxKeys keys, and evicts expired ones first', async () => {
    const { store, clock } = openMemoryStore();
    const take = (key: string) => store.take([descriptorOf(key, { limit: 1, windowMs: 60_000 })]);
    for (let i = 0; i < 1_000; i++) {
      await take(`flood ${i}`);
      // Asked about all the time, so never the one to make room.
      expect((await take('regular')).admitted).toBe(i === 0);
    }
    expect(store.size).toBe(100);
    clock.nowMs += 60_000;
    for (let i = 0; i < 100; i++) await take(`later ${i}`);
    expect(store.size).toBeLessThanOrEqual(100);
    for (let i = 0; i < 50; i++) await take(`later ${i}`);
    expect((await take('regular')).admitted).toBe(true);
  });

  test('keys that are in use are not evicted, however many new ones come', async () => {
    const { store } = openMemoryStore();
    const take = (key: string) => store.take([descriptorOf(key, { limit: 1, windowMs: 60_000 })]);
    for (let i = 0; i < 10; i++) await take(`regular ${i}`);
    for (let i = 0; i < 10_000; i++) {
      await take(`flood ${i}`);
      if (i % 3 !== 0) continue;
      expect((await take(`regular ${(i / 3) % 10}`)).admitted).toBe(false);
    }
    expect(store.size).toBe(100);
  });

  test('evicted keys need no memory', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const { store, clock } = openMemoryStore({ maxKeys: 1_000_000 });
    const usedBytes = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const churn = (keys: number) => {
      for (let i = 0; i < keys; i++) {
        clock.nowMs++;
        void store.take([descriptorOf(`${clock.nowMs}`, { limit: 1, windowMs: 1_000 })]);
      }
    };
    churn(20_000);
    const before = usedBytes();
    churn(200_000);
    expect(store.size).toBeLessThan(5_000);
    expect(usedBytes() - before).toBeLessThan(5_000_000);
  });

  test('a denied request stores nothing, unless rejected requests count', async () => {
    const { store } = openMemoryStore();
    const limit = (key: string, countRejected = false) =>
      descriptorOf(key, { limit: 1, windowMs: 60_000, countRejected });
    await store.take([limit('full')]);
    expect((await store.take([limit('full'), limit('new')])).admitted).toBe(false);
    expect(store.size).toBe(1);
    await store.take([limit('full'), limit('counted', true)]);
    expect(store.size).toBe(2);
  });

  test('no key of a request is evicted for another key of it', async () => {
    const { store } = openMemoryStore();
    const many = Array.from({ length: 150 }, (_, i) =>
      descriptorOf(`limit ${i}`, { limit: 1, windowMs: 60_000 }),
    );
    expect((await store.take(many)).states.every((state) => state?.remaining === 0)).toBe(true);
    expect(store.size).toBe(100);
  });
});
