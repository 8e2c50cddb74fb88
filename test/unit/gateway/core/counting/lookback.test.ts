import { expect, test } from 'vitest';
import { lookbackOf, memoryOf } from '../../../../../src/gateway/core/counting/lookback.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { quotaOf } from '../../../../support/quotas.ts';

const DAY_MS = 86_400_000;

test.each([
  ['a log, as long as its window', { limit: 5, windowMs: DAY_MS }, DAY_MS, false],
  ['a log of two days', { limit: 5, windowMs: 2 * DAY_MS }, 2 * DAY_MS, true],
  [
    'a counter, for two windows',
    { limit: 5, windowMs: DAY_MS, algorithm: 'sliding-window-counter' },
    2 * DAY_MS,
    false,
  ],
  [
    'a bucket, until its burst has flowed back',
    { limit: 7, windowMs: 3_600_000, burst: 9, algorithm: 'token-bucket' },
    4_628_572,
    false,
  ],
  [
    'a bucket that takes a day',
    { limit: 1, windowMs: 3_600_000, burst: 24, algorithm: 'token-bucket' },
    DAY_MS,
    false,
  ],
  [
    'a bucket that takes longer',
    { limit: 1, windowMs: 3_600_000, burst: 25, algorithm: 'token-bucket' },
    25 * 3_600_000,
    true,
  ],
] as const)('%s', (_, quota, lookbackMs, isLong) => {
  expect(memoryOf(quotaOf(quota))).toEqual({ lookbackMs, isLong });
});

test('of several limits, the longest of each kind of name', () => {
  const memories = [1, 3, 2].map((lookbackMs) => ({ lookbackMs, isLong: false }));
  expect(lookbackOf([...memories, { lookbackMs: 9, isLong: true }])).toEqual({
    dailyMs: 3,
    longMs: 9,
  });
});

test.each([
  ['{ rate: 1/1h, algorithm: token-bucket, burst: 25 }', true],
  ['{ rate: 1/1h, algorithm: token-bucket, burst: 24 }', false],
  ['{ rate: 1/1h, algorithm: token-bucket, burst: 25, per: global }', false],
  ['5/2d', true],
  ['5/1d', false],
])('a policy file with %s needs names that last 31 days: %s', (limit, expected) => {
  const set = policySetFrom(`{ version: 1, default: { limits: [${limit}] } }`);
  expect(set.hasLongWindows).toBe(expected);
});
