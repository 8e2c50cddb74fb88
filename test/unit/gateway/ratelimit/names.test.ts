/** Under which names calls are counted: those of addresses change, all others last. */
import { expect, test } from 'vitest';
import type { QuotaStore } from '../../../../src/gateway/core/counting/store.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { callOf, limitingWith } from '../../../support/rate-limiting.ts';

const DAY_MS = 86_400_000;
/** Noon of a day, so that no window of an hour reaches back to the day before. */
const NOON_MS = 20_000 * DAY_MS + DAY_MS / 2;

const rules = (unit: string, headgate = '') => `
domain: domain
descriptors:
  - key: value
    rate_limit: { unit: ${unit}, requests_per_unit: 10 }
    ${headgate}
    descriptors: [{ key: value, rate_limit: { unit: ${unit}, requests_per_unit: 10 } }]
`;

/** The partitions that are counted at noon of several days. */
async function namesOf(descriptor: string, days: readonly number[], unit = 'hour', headgate = '') {
  const names: string[][] = [];
  const memory = new MemoryStore({ now: () => limiting.clock.nowMs, maxKeys: 100 });
  const store: Pick<QuotaStore, 'take'> = {
    take(descriptors) {
      names.push(descriptors.map(({ key }) => key.slice(key.indexOf('{') + 1, key.indexOf('}'))));
      return memory.take(descriptors);
    },
  };
  const limiting = limitingWith(rules(unit, headgate), { store, windows: 'sliding' });
  for (const day of days) {
    limiting.clock.nowMs = NOON_MS + day * DAY_MS;
    await limiting.answer(callOf('domain', [descriptor]));
  }
  return names;
}

test.each(['tenant-a', '/login', 'user@example.com'])('%s has one name', async (value) => {
  const [first, second, later] = await namesOf(`value=${value}`, [0, 1, 40]);
  expect(first).toEqual([expect.stringMatching(/^d\.[\w-]{22}$/)]);
  expect(second).toEqual(first);
  expect(later).toEqual(first);
});

test.each([
  '203.0.113.7',
  '203.0.113.7:443',
  '10.0.0.0/8',
  '[2001:db8::1]:443',
  '::ffff:203.0.113.7',
  '203.0.113.7,10.0.0.1',
])('%s has another name each day', async (value) => {
  const [first, second] = await namesOf(`value=${value}`, [0, 1]);
  expect(first).toEqual([expect.stringMatching(/^r\.[\w-]{22}$/)]);
  expect(second).toHaveLength(1);
  expect(second).not.toEqual(first);
});

test('a descriptor with an address among its values has another name each day', async () => {
  const [first, second] = await namesOf('value=tenant-a value=203.0.113.7', [0, 1]);
  expect(first?.[0]).toMatch(/^r\./);
  expect(second).not.toEqual(first);
});

test('an address keeps its name for 31 days if the limit remembers for longer than a day', async () => {
  const bucket = 'headgate: { algorithm: token-bucket, burst: 300 }';
  const period = Math.ceil(20_000 / 31) * 31 - 20_000;
  for (const [unit, own] of [
    ['week', ''],
    ['hour', bucket],
  ] as const) {
    const [first, second, third] = await namesOf(
      'value=203.0.113.7',
      [period, period + 20, period + 31],
      unit,
      own,
    );
    expect(first?.[0]).toMatch(/^r\./);
    expect(second?.at(-1)).toBe(first?.[0]);
    expect(third?.at(-1)).not.toBe(first?.[0]);
  }
});

test('a limit per year counts an address under a lasting name, keyed with a secret', async () => {
  const [first, later] = await namesOf('value=203.0.113.7', [0, 100], 'year');
  expect(first).toEqual([expect.stringMatching(/^d\.[\w-]{22}$/)]);
  expect(later).toEqual(first);
  // Another installation has another secret, so a plain hash is not the name.
  const [elsewhere] = await namesOf('value=203.0.113.7', [0], 'year');
  expect(elsewhere).not.toEqual(first);
});

test('hits of an address before midnight count after it, if the limit is a token bucket', async () => {
  const limiting = limitingWith(
    'domain: domain\ndescriptors: [{ key: value, rate_limit: { unit: hour, requests_per_unit: 1 }, headgate: { algorithm: token-bucket, burst: 24 } }]',
  );
  const midnightMs = 20_001 * DAY_MS;
  const admitted: number[] = [];
  for (let minute = -60; minute < 48 * 60; minute++) {
    limiting.clock.nowMs = midnightMs + minute * 60_000;
    const { isOverLimit } = await limiting.answer(callOf('domain', ['value=203.0.113.7']));
    if (!isOverLimit) admitted.push(minute);
  }
  // The burst, then one an hour.
  expect(admitted).toHaveLength(24 + 48);
});

test('a call that is denied after midnight is named by the new day, and has the old name too', async () => {
  const limiting = limitingWith(rules('hour'), { windows: 'sliding' });
  const midnightMs = 20_001 * DAY_MS;
  const call = callOf('domain', ['value=203.0.113.7'], 10);
  limiting.clock.nowMs = midnightMs - 60_000;
  for (let i = 0; i < 2; i++) await limiting.answer(call);
  limiting.clock.nowMs = midnightMs + 60_000;
  expect((await limiting.answer(call)).isOverLimit).toBe(true);
  limiting.clock.nowMs = midnightMs + 2 * 3_600_000;
  for (let i = 0; i < 2; i++) await limiting.answer(call);
  const [before, after, later] = limiting.denied;
  expect(after?.current).not.toBe(before?.current);
  expect(after?.previous).toBe(before?.current);
  expect(later).toEqual({ current: after?.current, previous: undefined });
});
