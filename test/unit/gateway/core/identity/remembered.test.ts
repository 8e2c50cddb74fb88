import { createSecretKey, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  remember,
  rememberPartitions,
} from '../../../../../src/gateway/core/identity/remembered.ts';
import type { Salts } from '../../../../../src/gateway/core/identity/salts.ts';
import { SALTS } from '../../../../support/requests.ts';

const OTHER_SALTS = { ...SALTS, kept: createSecretKey(Buffer.alloc(32, 9)) };

test('a value is found under its salts only, and not again after they have changed', () => {
  let computed = 0;
  const remembered = remember(10, (_text: string, _salts: Salts) => ++computed);
  expect(remembered('a', SALTS)).toBe(1);
  expect(remembered('a', SALTS)).toBe(1);
  expect(remembered('a', OTHER_SALTS)).toBe(2);
  expect(remembered('a', SALTS)).toBe(3);
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
