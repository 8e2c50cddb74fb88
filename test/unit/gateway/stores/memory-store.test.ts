import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { describeQuotaStore } from '../../../contract/quota-store.contract.ts';
import { expectOneName } from '../../../contract/renamed-address.contract.ts';
import { expectLedgerCounts } from '../../../contract/settled-traffic.contract.ts';
import { descriptorOf } from '../../../support/quotas.ts';
import { openMemoryStore } from '../../../support/stores.ts';

describe('the memory store', () => {
  describeQuotaStore(() => openMemoryStore());

  test('limits of addresses decide as if addresses kept their names', () =>
    expectOneName(openMemoryStore, openMemoryStore, { runs: 100, hasSlots: false }));

  test('counts what a ledger of reservations and settlements says', () =>
    expectLedgerCounts(openMemoryStore, 500));

  test('settles nothing that it could not remember', async () => {
    const { store, clock } = openMemoryStore({ maxKeys: 2 });
    const descriptor = descriptorOf('a', { limit: 9, windowMs: 60_000 });
    const { key, quota } = descriptor;
    for (let i = 0; i < 4; i++) await store.take([descriptor]);
    const settle = async (id: string) => {
      const part = { key, quota, momentMs: clock.nowMs, reserved: 1, used: 0 };
      return store.settle({ id, endsMs: clock.nowMs + 1_000, parts: [part] });
    };
    await settle('a');
    await settle('b');
    await expect(settle('c')).rejects.toMatchObject({ reason: 'overloaded' });
    expect((await settle('a')).parts[0]?.state).toBe('repeated');
    clock.nowMs += 1_000;
    await store.take([descriptor]);
    expect((await settle('c')).parts[0]?.state).toBe('settled');
    expect((await store.peek([descriptor])).states[0]?.remaining).toBe(7);
  });

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
