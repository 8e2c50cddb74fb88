import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  MAX_OVERRIDES,
  MemoryOverrideStore,
  type Override,
  OverrideStoreFull,
  type StoredOverride,
} from '../../../../../src/gateway/stores/overrides/override.ts';
import { OverrideBook } from '../../../../../src/gateway/stores/overrides/override-book.ts';
import { NOON_MS } from '../../../../support/requests.ts';

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

function setUp(overrideStore = new MemoryOverrideStore(Date.now)) {
  const changes: number[] = [];
  const onChange = (inForce: readonly Override[]) => changes.push(inForce.length);
  const restored: number[] = [];
  const onRestored = (count: number) => restored.push(count);
  const book = new OverrideBook({ overrideStore, now: Date.now, onChange, onRestored });
  return { overrideStore, book, changes, restored };
}

const block = (client: string, forMs: number): Override => ({
  about: 'client',
  client,
  isLong: false,
  access: 'blocked',
  sinceMs: Date.now(),
  untilMs: Date.now() + forMs,
  reason: 'hammers',
  by: 'ada',
});

test('an override holds at once, and ends on time without anybody saying so', async () => {
  const { book, changes } = setUp();
  await book.write(block('i.a', 60_000));
  expect(book.current.access.get('i.a')).toBe('blocked');
  vi.advanceTimersByTime(59_999);
  expect(book.current.access.size).toBe(1);
  vi.advanceTimersByTime(1);
  expect(book.current.access.size).toBe(0);
  expect(changes).toEqual([1, 0]);
});

test('of many overrides each ends on its own time, also after weeks', async () => {
  const { book } = setUp();
  const DAY_MS = 86_400_000;
  for (const [i, days] of [31, 1, 7].entries()) await book.write(block(`i.${i}`, days * DAY_MS));
  const left = [1, 6, 24].map((days) => {
    vi.advanceTimersByTime(days * DAY_MS);
    return [...book.current.access.keys()];
  });
  expect(left).toEqual([['i.2', 'i.0'], ['i.0'], []]);
});

test('an override that ends after the longest delay of a timer stays in force until its end', async () => {
  const { book, changes } = setUp();
  const DAY_MS = 86_400_000;
  await book.write(block('i.a', 31 * DAY_MS));
  // A timer with a longer delay than 24.8 days would fire at once, and again and again.
  vi.advanceTimersByTime(0);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1_000);
  expect(book.current.access.size).toBe(1);
  vi.advanceTimersByTime(31 * DAY_MS - 1_001);
  expect(book.current.access.size).toBe(1);
  vi.advanceTimersByTime(1);
  expect(book.current.access.size).toBe(0);
  expect(changes).toEqual([1, 0]);
});

test('no timer is started for longer than timers can wait', async () => {
  const { book } = setUp();
  const delays: unknown[] = [];
  const timer = vi.spyOn(globalThis, 'setTimeout');
  await book.write(block('i.a', 31 * 86_400_000));
  for (const [, delay] of timer.mock.calls) delays.push(delay);
  timer.mockRestore();
  expect(delays).toEqual([2 ** 31 - 1]);
});

test('a book without overrides has no timer, and a closed one has none either', async () => {
  const { book } = setUp();
  await book.refresh();
  expect(vi.getTimerCount()).toBe(0);
  await book.write(block('i.a', 60_000));
  expect(vi.getTimerCount()).toBe(1);
  book.close();
  expect(vi.getTimerCount()).toBe(0);
});

test('an override that ends within two seconds is not stored again', async () => {
  const { book, overrideStore, restored } = setUp();
  await book.write(block('i.soon', 2_000));
  await book.write(block('i.later', 2_001));
  const fresh = new MemoryOverrideStore(Date.now);
  overrideStore.read = () => fresh.read();
  overrideStore.restoreLost = (lost) => fresh.restoreLost(lost);
  await book.refresh();
  expect(restored).toEqual([1]);
  expect([...book.current.access.keys()]).toEqual(['i.later']);
});

test('reading the overrides in force again is no change', async () => {
  const { book, changes } = setUp();
  await book.write(block('i.a', 60_000));
  for (let i = 0; i < 3; i++) await book.refresh();
  expect(changes).toEqual([1]);
});

test('the book knows whether an override names an address under the long salt', async () => {
  const { book } = setUp();
  await book.write(block('i.a', 60_000));
  expect(book.current.hasLongAddresses).toBe(false);
  await book.write({ ...block('i.b', 30_000), isLong: true } as Override);
  await book.write(block('i.c', 60_000));
  expect(book.current.hasLongAddresses).toBe(true);
});

test('an override store that is emptied again and again takes no override out of force', async () => {
  const own = new MemoryOverrideStore(Date.now);
  const overrideStore: MemoryOverrideStore = Object.assign(Object.create(own), {
    read: () => own.read(),
    put: (override: StoredOverride) => own.put(override),
    restoreLost: async () => {},
  });
  const { book, restored } = setUp(overrideStore);
  await book.write(block('i.a', 60_000));
  Object.assign(overrideStore, { read: async () => [] });
  for (let i = 0; i < 3; i++) await book.refresh();
  expect(book.current.access.get('i.a')).toBe('blocked');
  expect(restored).toEqual([1, 1, 1]);
  vi.advanceTimersByTime(60_000);
  expect(book.current.access.size).toBe(0);
});

test('of two overrides about one client the later one holds', async () => {
  const { book } = setUp();
  await book.write(block('i.a', 60_000));
  await book.write({ ...block('i.a', 1_000), access: 'exempt' } as Override);
  expect(book.list()).toHaveLength(1);
  expect(book.current.access.get('i.a')).toBe('exempt');
});

test('what another gateway overrides holds once the override store is read', async () => {
  const { overrideStore, book: other } = setUp();
  const { book } = setUp(overrideStore);
  await other.write(block('i.a', 60_000));
  expect(book.current.access.size).toBe(0);
  await book.refresh();
  expect(book.current.access.get('i.a')).toBe('blocked');
  expect(await other.remove('client:i.a', 'bob')).toBe(true);
  expect(await other.remove('client:i.a', 'bob')).toBe(false);
  await book.refresh();
  expect(book.current.access.size).toBe(0);
});

test('what changes while the override store is read is read, too', async () => {
  const own = new MemoryOverrideStore(Date.now);
  let reads = 0;
  const gate = Promise.withResolvers<void>();
  const overrideStore: MemoryOverrideStore = Object.assign(Object.create(own), {
    async read() {
      const found = await own.read();
      if (reads++ === 0) await gate.promise;
      return found;
    },
  });
  const { book } = setUp(overrideStore);
  const first = book.refresh();
  await own.put({
    about: 'client:i.a',
    untilMs: NOON_MS + 1_000,
    text: JSON.stringify(block('i.a', 1_000)),
  });
  const second = book.refresh();
  gate.resolve();
  await Promise.all([first, second]);
  expect(book.current.access.size).toBe(1);
});

test('an override store that cannot be reached changes nothing, and keeps no override from ending', async () => {
  const own = new MemoryOverrideStore(Date.now);
  const { book } = setUp(own);
  await book.write(block('i.a', 60_000));
  own.read = async () => Promise.reject(new Error('away'));
  await expect(book.refresh()).rejects.toThrow('away');
  expect(book.current.access.size).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(book.current.access.size).toBe(0);
});

test('what an override store has lost is on it again, and what was taken down is not', async () => {
  const { book, restored } = setUp();
  const other = setUp();
  await book.write(block('i.a', 60_000));
  const emptied = new MemoryOverrideStore(Date.now);
  const { book: knowing } = setUp(emptied);
  await knowing.write(block('i.a', 60_000));
  await knowing.write(block('i.b', 60_000));
  expect(await emptied.remove('client:i.b')).toBe(true);
  await knowing.refresh();
  expect([...knowing.current.access.keys()]).toEqual(['i.a']);
  expect(restored).toEqual([]);
  // Another store in its place, without anything on it.
  const fresh = other.overrideStore;
  emptied.read = () => fresh.read();
  emptied.restoreLost = (lost) => fresh.restoreLost(lost);
  await knowing.refresh();
  expect([...knowing.current.access.keys()]).toEqual(['i.a']);
  await other.book.refresh();
  expect([...other.book.current.access.keys()]).toEqual(['i.a']);
});

test('entries of the override store that are not overrides are left alone', async () => {
  const { overrideStore, book } = setUp();
  const untilMs = NOON_MS + 1_000;
  for (const text of ['', 'junk', '{}', 'null', '{"about":"client","client":7}']) {
    await overrideStore.put({ about: `x:${text}`, untilMs, text });
  }
  await book.write(block('i.a', 60_000));
  expect(book.list()).toHaveLength(1);
});

test('an override store takes so many overrides, and another only in place of one', async () => {
  const { overrideStore } = setUp();
  const untilMs = NOON_MS + 1_000;
  for (let i = 0; i < MAX_OVERRIDES; i++)
    await overrideStore.put({ about: `${i}`, untilMs, text: 'x' });
  await overrideStore.put({ about: '7', untilMs, text: 'anew' });
  await expect(overrideStore.put({ about: 'one more', untilMs, text: 'x' })).rejects.toThrow(
    OverrideStoreFull,
  );
  vi.setSystemTime(untilMs);
  await overrideStore.put({ about: 'one more', untilMs: untilMs + 1, text: 'x' });
});

describe('ended overrides', () => {
  const endsOf = (book: OverrideBook) =>
    book
      .ended()
      .map(({ override, endedMs, endedBy }) => [
        override.about === 'client' ? override.client : override.about,
        endedMs - NOON_MS,
        endedBy,
      ]);

  test('every gateway that knew an override knows who removed it, and when', async () => {
    const { overrideStore, book: other } = setUp();
    const { book } = setUp(overrideStore);
    await other.write(block('i.a', 60_000));
    await book.refresh();
    vi.setSystemTime(NOON_MS + 5_000);
    await other.remove('client:i.a', 'bob');
    vi.setSystemTime(NOON_MS + 6_000);
    await book.refresh();
    expect(endsOf(other)).toEqual([['i.a', 5_000, 'bob']]);
    expect(endsOf(book)).toEqual([['i.a', 5_000, 'bob']]);
  });

  test('an override that expires was ended by nobody', async () => {
    const { book } = setUp();
    await book.write(block('i.a', 60_000));
    vi.advanceTimersByTime(60_000);
    expect(endsOf(book)).toEqual([['i.a', 60_000, undefined]]);
  });

  test('an override expired if the store, by its own clock, has dropped it a moment before', async () => {
    const { book, overrideStore } = setUp();
    await book.write(block('i.a', 2_000));
    overrideStore.read = async () => [];
    await book.refresh();
    expect(endsOf(book)).toEqual([['i.a', 0, undefined]]);
  });

  test('an override that another one replaces has not ended', async () => {
    const { book } = setUp();
    await book.write(block('i.a', 60_000));
    await book.write({ ...block('i.a', 30_000), access: 'exempt' } as Override);
    expect(endsOf(book)).toEqual([]);
  });

  test.each(['', '-', '-{}', '-{"by":"a\\u001b[2J","atMs":1}', '-null'])(
    'nobody is named by the note %j',
    async (note) => {
      const { overrideStore, book } = setUp();
      await book.write(block('i.a', 60_000));
      await overrideStore.remove('client:i.a', note);
      vi.setSystemTime(NOON_MS + 7_000);
      await book.refresh();
      expect(endsOf(book)).toEqual([['i.a', 7_000, 'unknown']]);
    },
  );

  test('the last hundred are known for a day', async () => {
    const { book } = setUp();
    for (let i = 0; i < 101; i++) {
      await book.write(block(`i.${i}`, 60_000));
      await book.remove(`client:i.${i}`, 'bob');
    }
    const clients = endsOf(book).map(([client]) => client);
    expect([clients.length, clients[0], clients.at(-1)]).toEqual([100, 'i.100', 'i.1']);
    vi.setSystemTime(NOON_MS + 86_399_999);
    expect(book.ended()).toHaveLength(100);
    vi.setSystemTime(NOON_MS + 86_400_000);
    expect(book.ended()).toEqual([]);
  });
});
