import { describe, expect, test } from 'vitest';
import {
  addressPartition,
  descriptorPartition,
  descriptorPseudonyms,
  GLOBAL_PARTITION,
  headerPartition,
  isAddress,
  isOfMany,
  isPseudonym,
  listedKeyPartition,
  pseudonymsOf,
  unlistedKeyPartition,
  userPartition,
} from '../../../../../src/gateway/core/identity/partition.ts';
import { SALTS } from '../../../../support/requests.ts';

const ofAddress = (address: string, prefixes = [64, 56], salts = SALTS) =>
  addressPartition(address, prefixes, salts);

describe('the first letter of a partition tells its kind', () => {
  const PARTITIONS = {
    c: listedKeyPartition('acme'),
    k: unlistedKeyPartition('x'.repeat(43)),
    u: userPartition('ann', SALTS.kept),
    h: headerPartition('acme', SALTS.kept),
    i: ofAddress('203.0.113.9').daily.current,
    d: descriptorPartition('tenant', SALTS.kept),
    r: descriptorPseudonyms('203.0.113.9', SALTS.daily).current,
  };
  test.each(Object.entries(PARTITIONS))('%s: %s', (letter, partition) => {
    expect(partition).toMatch(new RegExp(`^${letter}\\.[\\w-]{22}$`));
    expect(isAddress(partition)).toBe(letter === 'i');
    expect(isOfMany(partition)).toBe(letter === 'h');
    expect(isPseudonym(partition)).toBe(letter === 'i' || letter === 'r');
  });
  test('the global partition is of many', () => {
    expect(isOfMany(GLOBAL_PARTITION)).toBe(true);
    expect(isAddress(GLOBAL_PARTITION)).toBe(false);
  });
});

test('an address has a pseudonym for each salt, and for each of its networks', () => {
  const address = ofAddress('2001:db8::1');
  const all = pseudonymsOf(address);
  expect(all).toHaveLength(8);
  expect(new Set(all).size).toBe(8);
  expect(all.slice(0, 4)).toEqual([
    address.daily.current,
    address.daily.previous,
    address.long?.current,
    address.long?.previous,
  ]);
});

test('an address has no pseudonym under a salt that no gateway knows', () => {
  const daily = { ...SALTS.daily, previous: undefined };
  const address = addressPartition('203.0.113.9', [64], { ...SALTS, daily, long: undefined });
  expect(address.daily.previous).toBeUndefined();
  expect(address.long).toBeUndefined();
  expect(pseudonymsOf(address)).toEqual([address.daily.current]);
});

test('without prefixes each IPv6 address counts by itself', () => {
  const of = (address: string) => ofAddress(address, []).daily.current;
  expect(of('2001:db8::1')).not.toBe(of('2001:db8::2'));
});
