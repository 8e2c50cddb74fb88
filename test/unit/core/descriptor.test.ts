import { expect, describe as group, test } from 'vitest';
import { describe } from '../../../src/core/descriptor.ts';
import type { ClientIdentity } from '../../../src/core/identity.ts';
import type { Partition } from '../../../src/core/policy.ts';
import { CLOCK_SKEW_MS, type DailySalts } from '../../../src/core/salts.ts';
import { loginPolicy } from '../../support/policies.ts';
import { NOON_MS, SALTS } from '../../support/requests.ts';

const MINUTES_5 = 300_000;

const BY_ADDRESS: ClientIdentity = {
  kind: 'ip',
  address: { today: 'i.today', yesterday: 'i.yesterday' },
  apiKey: undefined,
  user: undefined,
  untrustedProxy: false,
};
const LISTED: ClientIdentity = {
  ...BY_ADDRESS,
  kind: 'api_key',
  apiKey: { partition: 'c.alice', unverified: false },
};
const INVENTED: ClientIdentity = {
  ...BY_ADDRESS,
  kind: 'api_key',
  apiKey: { partition: 'k.new', unverified: true },
};

/** What is counted, as `key limit`. */
function counted(
  per: Partition,
  client: ClientIdentity,
  nowMs = NOON_MS,
  salts: DailySalts = SALTS,
) {
  return describe([loginPolicy(`[{ rate: 5/5min, per: ${per} }]`)], client, salts, nowMs).map(
    ({ key, limit }) => `${key} ${limit}`,
  );
}

group('whose share is counted', () => {
  test('a client without a key is its address', () => {
    expect(counted('client', BY_ADDRESS)).toEqual(['hg:v1:{i.today}:login:client.300000 5']);
  });
  test('a listed key is its own client', () => {
    expect(counted('client', LISTED)).toEqual(['hg:v1:{c.alice}:login:client.300000 5']);
  });
  test('an invented key also counts for its address, in the log of the address itself', () => {
    expect(counted('client', INVENTED)).toEqual([
      'hg:v1:{k.new}:login:client.300000 5',
      'hg:v1:{i.today}:login:client.300000 10',
    ]);
  });
  test('a limit per address has nothing to do with keys', () => {
    expect(counted('ip', INVENTED)).toEqual(['hg:v1:{i.today}:login:ip.300000 5']);
  });
  test('a global limit has one share', () => {
    expect(counted('global', INVENTED)).toEqual(['hg:v1:{g}:login:global.300000 5']);
  });
  test('leaving the key out does not get around a limit per key', () => {
    expect(counted('api_key', BY_ADDRESS)).toEqual(['hg:v1:{i.today}:login:api_key.300000 5']);
  });
  test('inventing one does not either', () => {
    expect(counted('api_key', INVENTED)).toHaveLength(2);
  });
  test('leaving the user out does not get around a limit per user', () => {
    expect(counted('user', LISTED)).toEqual(['hg:v1:{i.today}:login:user.300000 5']);
  });
});

group('after midnight', () => {
  const midnight = SALTS.dayStartMs;
  const both = [
    'hg:v1:{i.today}:login:client.300000 5',
    'hg:v1:{i.yesterday}:login:client.300000 5',
  ];
  test.each([
    ['at once', 0],
    ['until the window is over', MINUTES_5],
    ['and the clocks of all gateways agree on it', MINUTES_5 + CLOCK_SKEW_MS - 1],
  ])("yesterday's pseudonym counts as well: %s", (_, afterMs) => {
    expect(counted('client', BY_ADDRESS, midnight + afterMs)).toEqual(both);
  });
  test('then it is forgotten', () => {
    const afterMs = MINUTES_5 + CLOCK_SKEW_MS;
    expect(counted('client', BY_ADDRESS, midnight + afterMs)).toEqual(both.slice(0, 1));
  });
  test('keys have no days', () => {
    expect(counted('client', LISTED, midnight)).toEqual(['hg:v1:{c.alice}:login:client.300000 5']);
  });
});
