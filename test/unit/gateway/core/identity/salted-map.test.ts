import { createSecretKey, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  rememberPartitions,
  SaltedMap,
} from '../../../../../src/gateway/core/identity/salted-map.ts';
import { SALTS } from '../../../../support/requests.ts';

const OTHER_SALTS = { ...SALTS, kept: createSecretKey(Buffer.alloc(32, 9)) };

test('a value is found under its salts only, and not again after they have changed', () => {
  const map = new SaltedMap<string>(10);
  map.under(SALTS).set('a', 'first');
  expect(map.under(SALTS).get('a')).toBe('first');
  expect(map.under(OTHER_SALTS).get('a')).toBeUndefined();
  expect(map.under(SALTS).get('a')).toBeUndefined();
});

test('a partition is computed once for each value and secret, and each time for a long value', () => {
  const computed: string[] = [];
  const partitionOf = rememberPartitions((value: string, kept: KeyObject) => {
    computed.push(value);
    return `${value.length} ${kept === SALTS.kept}`;
  });
  const long = 'x'.repeat(257);
  for (const value of ['alice', 'alice', long, long]) {
    expect(partitionOf(value, SALTS)).toBe(`${value.length} true`);
  }
  expect(partitionOf('alice', OTHER_SALTS)).toBe('5 false');
  expect(computed).toEqual(['alice', long, long, 'alice']);
});
