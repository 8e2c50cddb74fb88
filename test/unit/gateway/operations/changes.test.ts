/** How long an override lasts. */
import { expect, test } from 'vitest';
import { termsOf } from '../../../../src/gateway/operations/changes.ts';
import { NOON_MS } from '../../../support/requests.ts';

const DAY_MS = 86_400_000;

test.each([
  ['1s', 1_000],
  ['30min', 1_800_000],
  ['2h', 7_200_000],
  // Longer than the longest delay of a timer, 24.8 days.
  ['25d', 25 * DAY_MS],
  ['31d', 31 * DAY_MS],
  ['744h', 31 * DAY_MS],
])('an override for %s ends that much later', (duration, ms) => {
  expect(termsOf({ for: duration, reason: 'a test', by: 'ada' }, NOON_MS)).toEqual({
    ...{ sinceMs: NOON_MS, untilMs: NOON_MS + ms, reason: 'a test', by: 'ada' },
  });
});

test('an operator without a name is unknown', () => {
  expect(termsOf({ for: '1h', reason: 'a test' }, NOON_MS).by).toBe('unknown');
});

test.each(['32d', '745h', '2678401s'])('%s is too long', (duration) => {
  expect(() => termsOf({ for: duration, reason: 'a test' }, NOON_MS)).toThrow(
    expect.objectContaining({
      ...{ code: 'invalid', message: expect.stringMatching(/^for: must be at most 31d; /) },
    }),
  );
});

test.each(['', '0s', '1w', '-1h', '1.5h', '1 h', 'ever'])('%j is no duration', (duration) => {
  expect(() => termsOf({ for: duration, reason: 'a test' }, NOON_MS)).toThrow(/^for: "/);
});
