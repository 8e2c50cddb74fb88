import { expect, test } from 'vitest';
import { fullestWindow, wrongDenials } from '../support/exactness.ts';

test('the judge finds the fullest window wherever it starts', () => {
  expect(fullestWindow([0, 900, 1_000, 1_800, 1_899], 1_000)).toBe(4);
  expect(fullestWindow([0, 1_000, 2_000], 1_000)).toBe(1);
  expect(fullestWindow([5, 5, 5], 1_000)).toBe(3);
});

test('the judge finds denials that had room', () => {
  const denied = (sentMs: number, answeredMs: number) => ({ admitted: false, sentMs, answeredMs });
  // Two in a thousand milliseconds: full from 500 to 1000 and from 1200 to 1500.
  const stamps = [0, 500, 1_200];
  expect(wrongDenials([denied(600, 610), denied(1_300, 1_310)], stamps, 2, 1_000)).toBe(0);
  expect(wrongDenials([denied(100, 110), denied(1_050, 1_060)], stamps, 2, 1_000)).toBe(2);
  expect(wrongDenials([denied(1_600, 1_700)], stamps, 2, 1_000)).toBe(1);
});
