/** Keys that the store lists, as requests meet them. */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type {
  KeyDirectory,
  StoredKey,
} from '../../../../../src/gateway/core/identity/key-directory.ts';
import { listedKeyPartition } from '../../../../../src/gateway/core/identity/partition.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { AT_NOON, checkRequest, NOON_MS } from '../../../../support/requests.ts';

const digestOf = (key: string) => hash('sha256', key, 'base64url');
const storedKey = (id: string, parts: Partial<StoredKey> = {}): StoredKey => ({
  id,
  partition: listedKeyPartition(id),
  plan: undefined,
  isBlocked: false,
  endsMs: Number.POSITIVE_INFINITY,
  ...parts,
});

/** Knows some keys at once, and none of the others. Notes what it is asked to look up. */
function directory(keys: Readonly<Record<string, StoredKey>>) {
  const byDigest = new Map(Object.entries(keys).map(([key, record]) => [digestOf(key), record]));
  const lookedUp: { readonly digests: readonly string[]; readonly address: string }[] = [];
  const known: KeyDirectory = {
    find: (digest) => byDigest.get(digest),
    isKnown: () => true,
    clientOf: () => undefined,
    lookUp(digests, addressOf) {
      const unknown = digests.filter((digest) => !byDigest.has(digest));
      if (unknown.length === 0) return undefined;
      lookedUp.push({ digests: unknown, address: addressOf() });
      return Promise.resolve();
    },
  };
  return { known, lookedUp };
}

const policies = (header = 'x-api-key', keys = 'redis') =>
  policySetFrom(`
version: 1
identity: { api_key: { header: ${header}, keys: ${keys} } }
default: { limits: [10/1h], plans: { pro: [20/1h] } }
exempt: [{ key: friend }]`);

const identify = (
  headers: Record<string, string>,
  keys: KeyDirectory | undefined,
  set = policies(),
) => set.identify(checkRequest({ headers, client: '198.51.100.7' }), { ...AT_NOON, keys });

describe('a key that the store lists', () => {
  const { known } = directory({
    acme: storedKey('acme', { plan: 'pro' }),
    blocked: storedKey('evil', { isBlocked: true }),
    both: storedKey('friend', { isBlocked: true }),
    ended: storedKey('late', { endsMs: NOON_MS }),
    ending: storedKey('soon', { endsMs: NOON_MS + 1 }),
  });

  test('is the client with this id and plan, as a listed key of the file would be', () => {
    const client = identify({ 'x-api-key': 'acme' }, known);
    expect(client).toMatchObject({ kind: 'api_key', plan: 'pro', access: undefined });
    expect(client.apiKey).toMatchObject({ unverified: false, listedIn: 'store', id: 'acme' });
    expect(client.partition).toBe(listedKeyPartition('acme'));
  });

  test('is refused if it is blocked, but exempt wins', () => {
    expect(identify({ 'x-api-key': 'blocked' }, known).access).toBe('blocked');
    expect(identify({ 'x-api-key': 'both' }, known).access).toBe('exempt');
  });

  test('is unlisted from its end on', () => {
    expect(identify({ 'x-api-key': 'ending' }, known).apiKey?.unverified).toBe(false);
    expect(identify({ 'x-api-key': 'ended' }, known).apiKey?.unverified).toBe(true);
  });

  test('is unlisted if the policy file does not say redis', () => {
    const inFile = policySetFrom('{ version: 1, default: { limits: [10/1h] } }');
    expect(identify({ 'x-api-key': 'acme' }, known, inFile).apiKey?.unverified).toBe(true);
    expect(identify({ 'x-api-key': 'acme' }, undefined).apiKey?.unverified).toBe(true);
  });

  test('is found behind any scheme of Authorization', () => {
    const set = policies('authorization');
    for (const value of ['Bearer acme', 'Token acme', 'acme', 'ApiKey token="acme"']) {
      expect(identify({ authorization: value }, known, set).apiKey).toMatchObject({ id: 'acme' });
    }
    expect(identify({ authorization: 'Basic invented' }, known, set).apiKey).toBeUndefined();
  });
});

describe('a look-up', () => {
  const lookUp = (headers: Record<string, string>, set = policies()) => {
    const { known, lookedUp } = directory({ acme: storedKey('acme') });
    const request = checkRequest({ headers, client: '198.51.100.7' });
    const result = set.lookUpKey(request, { ...AT_NOON, keys: known });
    expect(result === undefined).toBe(lookedUp.length === 0);
    const { daily } = set.identify(request, AT_NOON).address;
    for (const { address } of lookedUp) expect(address).toBe(daily.current);
    return lookedUp.flatMap(({ digests }) => digests);
  };

  test('is made for a key that nobody knows, by its address', () => {
    expect(lookUp({ 'x-api-key': 'new' })).toEqual([digestOf('new')]);
    // What an application may read that trims.
    expect(lookUp({ 'x-api-key': 'new!' })).toEqual([digestOf('new!'), digestOf('new')]);
  });

  test('is made for at most eight words of Authorization', () => {
    const set = policies('authorization');
    expect(lookUp({ authorization: 'Token new' }, set)).toEqual(['Token', 'new'].map(digestOf));
    const words = Array.from({ length: 1_000 }, (_, i) => `w${i}`).join(' ');
    expect(lookUp({ authorization: words }, set)).toHaveLength(8);
  });

  test.each([
    ['without a key', {}, policies()],
    ['with a key that is known', { 'x-api-key': 'acme' }, policies()],
    [
      'if the policy file has no redis',
      { 'x-api-key': 'new' },
      policySetFrom('{ version: 1, default: { limits: [10/1h] } }'),
    ],
  ])('is not made %s', (_, headers, set) => {
    expect(lookUp(headers as Record<string, string>, set)).toEqual([]);
  });
});
