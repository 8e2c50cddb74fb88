import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { RedisSaltVault } from '../../../src/salts/redis-salt-vault.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 21);

/** The two commands of Redis that a vault needs. */
function setUp(stored: Record<string, string> = {}, periodMs = DAY_MS) {
  const values = new Map(Object.entries(stored));
  const sets: unknown[][] = [];
  const client = {
    get: async (key: string) => values.get(key) ?? null,
    set: async (...args: unknown[]) => {
      sets.push(args);
      const [key, value] = args.map(String);
      if (!values.has(key ?? '')) values.set(key ?? '', value ?? '');
    },
  };
  return { vault: new RedisSaltVault(client as unknown as Redis, periodMs), sets, values };
}

const salt = (byte: number) => Buffer.alloc(32, byte);
const KEY = 'hg:v1:salt:1d:2026-11-21';

test('the first salt that is proposed for a period stays until the end of the next one', async () => {
  const { vault, sets } = setUp();
  expect(await vault.get(START_MS)).toBeUndefined();
  expect(await vault.agree(START_MS, salt(1), START_MS + 5)).toEqual(salt(1));
  expect(await vault.agree(START_MS, salt(2), START_MS + 6)).toEqual(salt(1));
  expect(await vault.get(START_MS)).toEqual(salt(1));
  const text = salt(1).toString('base64url');
  expect(sets[0]).toEqual([KEY, text, 'PX', 2 * DAY_MS - 5, 'NX']);
});

test('the key names the length of the period', async () => {
  const { vault, sets } = setUp({}, 32 * DAY_MS);
  await vault.agree(START_MS, salt(1), START_MS);
  expect(sets[0]?.[0]).toBe('hg:v1:salt:32d:2026-11-21');
  expect(sets[0]?.[3]).toBe(64 * DAY_MS);
});

test('a value that is no salt is named', async () => {
  const { vault } = setUp({ [KEY]: 'too short' });
  await expect(vault.get(START_MS)).rejects.toThrow(`${KEY} does not hold a salt of 32 bytes`);
});

test('a salt that is lost at once is the proposed one', async () => {
  const { vault, values } = setUp();
  values.set = () => values;
  expect(await vault.agree(START_MS, salt(3), START_MS)).toEqual(salt(3));
});
