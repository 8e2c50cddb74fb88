import { expect, test } from 'vitest';
import { momentText, relativeTime, shortTime } from '../../../../src/gateway/operations/texts.ts';
import { NOON_MS } from '../../../support/requests.ts';

test('times are shown to the second', () => {
  expect(shortTime('2026-11-22T00:53:32.723Z')).toBe('2026-11-22 00:53:32');
});

test.each([
  [0, 'now'],
  [0.4, 'now'],
  [1, 'in 1 s'],
  [119, 'in 119 s'],
  [120, 'in 2 min'],
  [42 * 60 + 10, 'in 42 min'],
  [7_100, 'in 118 min'],
  [7_199, 'in 2 h'],
  [7_200, 'in 2 h'],
  [47 * 3_600, 'in 47 h'],
  [48 * 3_600, 'in 2 d'],
  [31 * 86_400, 'in 31 d'],
  [-5, '5 s ago'],
  [-3 * 3_600, '3 h ago'],
])('%d s from now are %j', (seconds, text) => {
  const iso = new Date(NOON_MS + seconds * 1_000).toISOString();
  expect(relativeTime(iso, NOON_MS)).toBe(text);
});

test('a moment is shown with how far away it is', () => {
  expect(momentText(new Date(NOON_MS + 2_520_000).toISOString(), NOON_MS)).toBe(
    '2026-11-21 12:42:00 UTC, in 42 min',
  );
});
