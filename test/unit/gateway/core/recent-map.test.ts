import { expect, test } from 'vitest';
import { RecentMap } from '../../../../src/gateway/core/recent-map.ts';

const KEYS = Array.from({ length: 50 }, (_, i) => `key ${i}`);

test('finds what was set, as long as no more than half of the bound was set since', () => {
  const map = new RecentMap<number>(20);
  for (const [i, key] of KEYS.entries()) {
    map.set(key, i);
    for (let back = 0; back < 10 && back <= i; back++) {
      expect(map.get(KEYS[i - back] as string)).toBe(i - back);
    }
  }
});

test('never holds more than its bound', () => {
  const map = new RecentMap<number>(20);
  for (const [i, key] of KEYS.entries()) map.set(key, i);
  expect(KEYS.filter((key) => map.get(key) !== undefined).length).toBeLessThanOrEqual(20);
});

test('keeps what is used again and again', () => {
  const map = new RecentMap<number>(20);
  map.set('used', 1);
  for (const key of KEYS) {
    map.set(key, 0);
    expect(map.get('used')).toBe(1);
  }
});

test('replaces a value, and keeps values that are false or 0', () => {
  const map = new RecentMap<number | boolean>(4);
  map.set('a', 1);
  map.set('a', 0);
  map.set('b', false);
  expect([map.get('a'), map.get('b')]).toEqual([0, false]);
});

test('finds nothing that was deleted, however long ago it was set', () => {
  const map = new RecentMap<number>(20);
  for (const [i, key] of KEYS.slice(0, 15).entries()) map.set(key, i);
  for (const key of ['key 0', 'key 14', 'no key']) map.delete(key);
  expect(['key 0', 'key 14', 'no key'].map((key) => map.get(key))).toEqual(
    Array(3).fill(undefined),
  );
  expect([map.get('key 1'), map.get('key 13')]).toEqual([1, 13]);
});

test('is empty after it was cleared', () => {
  const map = new RecentMap<number>(2);
  for (const key of KEYS) map.set(key, 1);
  map.clear();
  expect(KEYS.filter((key) => map.get(key) !== undefined)).toEqual([]);
});
