import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { KeyBook } from '../../../../src/gateway/keys/key-book.ts';
import type { KeyStore } from '../../../../src/gateway/keys/key-store.ts';
import { MemoryKeyStore } from '../../../../src/gateway/keys/memory-key-store.ts';
import { changeKeys, digestOf, keyRecord, observedKeyEvents } from '../../../support/keys.ts';

function bookOn(store: KeyStore = new MemoryKeyStore()) {
  const events = observedKeyEvents();
  return new KeyBook({ store, events, deadlineMs: 10_000, now: () => 0 });
}

const ACME = keyRecord('acme');

test('pages list every key once, in the order of their ids, whatever their size is', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }), {
        maxLength: 20,
      }),
      fc.integer({ min: 1, max: 7 }),
      async (names, count) => {
        const ids = names.map((name) => name.replaceAll('\0', ''));
        const book = bookOn();
        const records = ids.map((id, i) => keyRecord(`x${id}`, { key: `${i}` }));
        await book.put(records);
        const listed: string[] = [];
        let next: string | undefined;
        do {
          const page = await book.list(next, count);
          expect(page.keys.length).toBe(Math.min(count, records.length - listed.length));
          listed.push(...page.keys.map(({ id }) => id));
          next = page.next;
        } while (next !== undefined);
        const inOrder = records
          .map(({ id }) => id)
          .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        expect(listed).toEqual(inOrder);
      },
    ),
    { numRuns: 50 },
  );
});

test('a place that no page has named lists what comes after it', async () => {
  const book = bookOn();
  await book.put([ACME]);
  for (const place of ['', '!', 'x'.repeat(1_000), Buffer.from('\0\0\0').toString('base64url')]) {
    const { next } = await book.list(place, 5);
    expect(next).toBeUndefined();
  }
});

test('a change that fails leaves what is known, and is known once it was repeated', async () => {
  const store = new MemoryKeyStore();
  const book = bookOn(store);
  await book.put([ACME]);
  await book.lookUp([ACME.digest], () => 'a');
  const { replace } = store;
  store.replace = async () => {
    throw new StoreError('timeout', 'late');
  };
  await expect(changeKeys(book, 'acme', { plan: 'pro' })).rejects.toThrow('late');
  expect(book.find(ACME.digest)?.plan).toBe('free');
  store.replace = replace;
  await changeKeys(book, 'acme', { plan: 'pro' });
  await book.lookUp([ACME.digest], () => 'a');
  expect(book.find(ACME.digest)?.plan).toBe('pro');
});

test('a client has its new plan at once where it was changed', async () => {
  const book = bookOn();
  const planNow = () => book.clientOf(ACME.partition)?.plan;
  await book.put([ACME]);
  expect(planNow()).toBe('free');
  await book.lookUp([ACME.digest], () => 'a');
  book.find(ACME.digest);
  await changeKeys(book, 'acme', { plan: 'pro' });
  expect(planNow()).toBe('pro');
  await book.put([{ ...ACME, plan: 'team' }]);
  expect(planNow()).toBe('team');
});

test('an operator who reads a key that another gateway changed sees its plan', async () => {
  const store = new MemoryKeyStore();
  const book = bookOn(store);
  await book.put([ACME]);
  await store.put([{ ...ACME, plan: 'pro' }]);
  expect(book.clientOf(ACME.partition)?.plan).toBe('free');
  await book.ofId('acme');
  expect(book.clientOf(ACME.partition)?.plan).toBe('pro');
});

test('other changes wait for no key: steps have 100 keys at most', async () => {
  const store = new MemoryKeyStore();
  const sizes: number[] = [];
  store.put = async (records) => {
    sizes.push(records.length);
    await MemoryKeyStore.prototype.put.call(store, records);
  };
  const book = bookOn(store);
  await book.put(Array.from({ length: 250 }, (_, i) => keyRecord('acme', { key: `${i}` })));
  expect(sizes).toEqual([100, 100, 50]);
  expect(await book.ofId('acme')).toHaveLength(250);
  expect(await changeKeys(book, 'acme', { isBlocked: true })).toHaveLength(250);
  expect(await book.remove(await book.ofId('acme'))).toBe(250);
  expect(await book.ofId('acme')).toEqual([]);
});

test('an id without keys has none to change or to remove', async () => {
  const book = bookOn();
  expect(await book.ofId('nobody')).toEqual([]);
  expect(await changeKeys(book, 'nobody', { plan: 'pro' })).toEqual([]);
  expect(await book.remove([{ id: 'nobody', digest: digestOf('nobody') }])).toBe(0);
  expect(await book.list(undefined, 10)).toEqual({ keys: [], next: undefined });
});
