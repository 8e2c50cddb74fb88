/** Settlements that wait for a store that fails, and then works. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Settlement } from '../../../../src/gateway/core/counting/settlement.ts';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { WaitingSettlements } from '../../../../src/gateway/settlement/waiting.ts';
import { settlementStore } from '../../../support/settling.ts';

const AWAY = new StoreError('connection', 'the store is away');
const LATER = Number.POSITIVE_INFINITY;

let store: ReturnType<typeof settlementStore>;
let waiting: WaitingSettlements;
let done: string[];
let counts: number[];
beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 });
  store = settlementStore();
  store.fails = AWAY;
  [done, counts] = [[], []];
  waiting = open();
});
afterEach(() => void vi.useRealTimers());

function open(given: Pick<typeof store, 'settle'> = store) {
  return new WaitingSettlements({
    store: given,
    now: () => Date.now(),
    onCount: (count) => void counts.push(count),
    onLost: (count) => void done.push(`lost ${count}`),
    onFault: (error) => void done.push(String(error)),
    closeWithinMs: 550,
  });
}

const settlement = (id: string, endsMs = LATER): Settlement => ({ id, endsMs, parts: [] });
const add = (id: string, endsMs = LATER, to = waiting) =>
  to.add({
    settlement: settlement(id, endsMs),
    onSettled: () => void done.push(`settled ${id}`),
    onLost: () => void done.push(`lost ${id}`),
  });
const settledIds = () => store.settled.map(({ id }) => id);

test('they are sent once the store works, and each once', async () => {
  const ids = Array.from({ length: 200 }, (_, i) => `settlement ${i}`);
  for (const id of ids) expect(add(id)).toBe(true);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(done).toEqual([]);
  store.fails = undefined;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(settledIds().sort()).toEqual(ids.sort());
  expect(done).toHaveLength(200);
  expect(counts.at(-1)).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('one that the store never takes keeps no other from being settled', async () => {
  const settle = vi.fn(async ({ id }: Settlement) => {
    if (id === 'bad') throw new StoreError('wrongtype', 'the key holds something else');
    return { parts: [] };
  });
  const tried = open({ settle });
  for (const id of ['bad', 'good', 'better']) add(id, LATER, tried);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(done.sort()).toEqual(['settled better', 'settled good']);
});

test('while the store fails, one at a time is tried, less and less often', async () => {
  const settle = vi.fn(async () => Promise.reject(AWAY));
  const tried = open({ settle } as unknown as typeof store);
  for (let i = 0; i < 100; i++) add(`settlement ${i}`, LATER, tried);
  await vi.advanceTimersByTimeAsync(250);
  expect(settle).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(500);
  expect(settle).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(settle.mock.calls.length).toBeLessThan(50);
  expect(settle.mock.calls.length).toBeGreaterThan(35);
});

test('the same token has one place', async () => {
  for (let i = 0; i < 20_000; i++) expect(add('the same')).toBe(true);
  expect(counts).toEqual([1]);
  store.fails = undefined;
  await vi.advanceTimersByTimeAsync(250);
  expect(done).toEqual(['settled the same']);
});

test('no more than 10,000 wait: others are lost at once', () => {
  for (let i = 0; i < 10_000; i++) expect(add(`settlement ${i}`)).toBe(true);
  expect(add('one more')).toBe(false);
  expect(done).toEqual(['lost 1']);
  expect(counts.at(-1)).toBe(10_000);
});

test('one whose token ends while it waits is lost', async () => {
  add('short', Date.now() + 2_000);
  add('long');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(done).toEqual(['lost short', 'lost 1']);
  store.fails = undefined;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(done.slice(2)).toEqual(['settled long']);
  expect(settledIds()).toEqual(['long']);
});

test('one that fails because of a fault is lost, and the others go on', async () => {
  const settle = vi.fn(async ({ id }: Settlement) => {
    if (id === 'bad') throw new Error('a fault');
    return { parts: [] };
  });
  const tried = open({ settle } as unknown as typeof store);
  add('bad', LATER, tried);
  add('good', LATER, tried);
  await vi.advanceTimersByTimeAsync(250);
  expect(done).toEqual(['Error: a fault', 'lost bad', 'lost 1', 'settled good']);
});

test('when the gateway ends, all are tried once more', async () => {
  add('one');
  add('two');
  store.fails = undefined;
  await waiting.close();
  expect(done).toEqual(['settled one', 'settled two']);
  expect(add('late')).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test('when the gateway ends and the store still fails, the rest is lost', async () => {
  add('one');
  add('two');
  await waiting.close();
  expect(done).toEqual(['lost two', 'lost one', 'lost 2']);
});

test('a store that hangs does not keep the gateway from ending', async () => {
  const hanging = open({ settle: () => new Promise(() => {}) } as unknown as typeof store);
  add('one', LATER, hanging);
  const closed = hanging.close();
  await vi.advanceTimersByTimeAsync(550);
  await closed;
  expect(done).toEqual(['lost one', 'lost 1']);
});
