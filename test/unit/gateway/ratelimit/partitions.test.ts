import { createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Limit } from '../../../../src/gateway/core/policy.ts';
import {
  descriptorNames,
  partitionsFor,
} from '../../../../src/gateway/ratelimit/counting/partitions.ts';
import { NOON_MS, SALTS } from '../../../support/requests.ts';

const HOUR_MS = 3_600_000;
const limitOf = (windowMs: number, isLong: boolean) =>
  ({ isLong, lookbackMs: windowMs, quota: { algorithm: 'sliding-window-log', windowMs } }) as Limit;
const HOUR = limitOf(HOUR_MS, false);
const MONTH = limitOf(30 * 24 * HOUR_MS, true);
const YEAR = limitOf(365 * 24 * HOUR_MS, true);
const counted = (value: string) => ({ domain: 'site', entries: [{ key: 'client', value }] });
const periodOf = (byte: number) => ({
  startMs: NOON_MS - 12 * HOUR_MS,
  current: createSecretKey(Buffer.alloc(32, byte)),
  previous: createSecretKey(Buffer.alloc(32, byte + 1)),
});
const TODAY = { kept: SALTS.kept, daily: periodOf(1), long: periodOf(3) };
const TOMORROW = { ...TODAY, daily: periodOf(5) };

test('a descriptor has the same names when it comes again, and others under other limits', () => {
  const names = descriptorNames();
  const now = { salts: TODAY, nowMs: NOON_MS, names };
  const fresh = () => ({ ...now, names: descriptorNames() });
  for (let round = 0; round < 3; round++) {
    for (const limit of [HOUR, MONTH, YEAR]) {
      for (const value of ['192.0.2.1', 'alice']) {
        expect(partitionsFor(limit, counted(value), now)).toEqual(
          partitionsFor(limit, counted(value), fresh()),
        );
      }
    }
  }
  const ofAddress = [HOUR, MONTH, YEAR].map(
    (limit) => partitionsFor(limit, counted('192.0.2.1'), now).current,
  );
  expect(new Set(ofAddress).size).toBe(3);
});

test('an address has a new name under new salts, and any other descriptor its old one', () => {
  const names = descriptorNames();
  const nameOf = (value: string, salts: typeof TODAY) =>
    partitionsFor(HOUR, counted(value), { salts, nowMs: NOON_MS, names }).current;
  const [address, alice] = [nameOf('192.0.2.1', TODAY), nameOf('alice', TODAY)];
  expect(nameOf('192.0.2.1', TOMORROW)).not.toBe(address);
  expect(nameOf('alice', TOMORROW)).toBe(alice);
  expect(nameOf('192.0.2.1', TODAY)).toBe(address);
});

test('the previous name is given only while it may matter, also to a descriptor that is remembered', () => {
  const names = descriptorNames();
  const at = (nowMs: number) =>
    partitionsFor(HOUR, counted('192.0.2.1'), { salts: TODAY, nowMs, names }).previous;
  const { startMs } = TODAY.daily;
  expect(at(NOON_MS)).toBeUndefined();
  expect(at(startMs + 1)).toMatch(/^r\./);
  expect(at(NOON_MS)).toBeUndefined();
});

test('descriptors that are longer than usual have names, too', () => {
  const names = descriptorNames();
  const now = { salts: TODAY, nowMs: NOON_MS, names };
  const long = counted('a'.repeat(300));
  expect(partitionsFor(HOUR, long, now)).toEqual(partitionsFor(HOUR, long, now));
});
