import type { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import {
  redisSaltVault,
  withoutWriting,
} from '../../../../../src/gateway/stores/salts/redis-salt-vault.ts';

const NAME = '1d:2026-11-21';

/** The commands of Redis that a vault needs. */
function setUp(stored: Record<string, string> = {}) {
  const values = new Map(Object.entries(stored));
  const sets: unknown[][] = [];
  const publish = vi.fn(async (_channel: string, _message: string) => 0);
  const client = {
    publish,
    get: async (key: string) => values.get(key) ?? null,
    set: async (...args: unknown[]) => {
      sets.push(args);
      const [key, value] = args.map(String);
      if (!values.has(key ?? '')) values.set(key ?? '', value ?? '');
    },
  };
  return { vault: redisSaltVault(client as unknown as Redis), sets, values, publish };
}

const salt = (byte: number) => Buffer.alloc(32, byte);
const KEY = 'hg:v1:salt:1d:2026-11-21';

test('the first salt that is proposed stays for its lifetime', async () => {
  const { vault, sets } = setUp();
  expect(await vault.get(NAME)).toBeUndefined();
  expect(await vault.agree(NAME, salt(1), 5)).toEqual(salt(1));
  expect(await vault.agree(NAME, salt(2), 6)).toEqual(salt(1));
  expect(await vault.get(NAME)).toEqual(salt(1));
  const text = salt(1).toString('base64url');
  // A full Redis refuses writes, so there is none if the salt is there.
  expect(sets).toEqual([[KEY, text, 'PX', 5, 'NX']]);
});

test('the kept secret is stored without an end', async () => {
  const { vault, sets } = setUp();
  await vault.agree('kept', salt(1), undefined);
  expect(sets).toEqual([['hg:v1:salt:kept', salt(1).toString('base64url'), 'NX']]);
});

test('a salt that another gateway stores at the same moment is used', async () => {
  const { vault, values } = setUp();
  const other = salt(9).toString('base64url');
  values.has = () => Boolean(values.set(KEY, other));
  expect(await vault.agree(NAME, salt(1), 5)).toEqual(salt(9));
});

test('a value that is no salt is named', async () => {
  const { vault } = setUp({ [KEY]: 'too short' });
  await expect(vault.get(NAME)).rejects.toThrow(`${KEY} does not hold a salt of 32 bytes`);
});

test('a salt that is lost at once is the proposed one', async () => {
  const { vault, values } = setUp();
  values.set = () => values;
  expect(await vault.agree(NAME, salt(3), 5)).toEqual(salt(3));
});

test('a program that only looks at salts stores none', async () => {
  const { vault, sets } = setUp({ [KEY]: salt(1).toString('base64url') });
  const looking = withoutWriting(vault);
  expect(await looking.agree(NAME, salt(2), 5)).toEqual(salt(1));
  expect(await looking.agree('kept', salt(2), undefined)).toEqual(salt(2));
  expect(await looking.get('kept')).toBeUndefined();
  expect(sets).toEqual([]);
});

test('other gateways are asked on a channel, if the account may publish', async () => {
  const { vault, publish } = setUp();
  await vault.requestLost();
  expect(publish.mock.calls).toEqual([['hg:v1:salts', '']]);
  const refusal = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
  publish.mockRejectedValueOnce(refusal('NOPERM this user has no permissions'));
  await vault.requestLost();
  publish.mockRejectedValueOnce(refusal('LOADING Redis is loading'));
  await expect(vault.requestLost()).rejects.toThrow('LOADING');
});
