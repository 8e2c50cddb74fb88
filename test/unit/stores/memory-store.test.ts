import { describe, expect, test } from 'vitest';
import { describeQuotaStore } from '../../contract/quota-store.contract.ts';
import { descriptorOf } from '../../support/quotas.ts';
import { openMemoryStore } from '../../support/stores.ts';

describe('the memory store', () => {
  describeQuotaStore(openMemoryStore);

  test('it holds no more keys than it may, and forgets those that are over first', async () => {
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
    expect(store.size).toBe(100);
    for (let i = 0; i < 50; i++) await take(`later ${i}`);
    expect((await take('regular')).admitted).toBe(true);
  });

  test('a key that is asked for all the time is the last to make room', async () => {
    const { store } = openMemoryStore();
    for (let i = 0; i < 100; i++)
      await store.take([descriptorOf(`k${i}`, { limit: 1, windowMs: 60_000 })]);
    for (let i = 0; i < 10_000; i++)
      await store.take([descriptorOf('k5', { limit: 1, windowMs: 60_000 })]);
    // It was the last to be used, so ninety-nine others go first.
    for (let i = 0; i < 99; i++)
      await store.take([descriptorOf(`new ${i}`, { limit: 1, windowMs: 60_000 })]);
    expect((await store.take([descriptorOf('k5', { limit: 1, windowMs: 60_000 })])).admitted).toBe(
      false,
    );
  });
});
