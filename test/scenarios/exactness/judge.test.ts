import { describe, expect, test } from 'vitest';
import { fullestWindow, judge, stampOf, wrongDenials } from './judge.ts';

test('the judge finds the fullest window wherever it starts', () => {
  expect(fullestWindow([0, 900, 1_000, 1_800, 1_899], 1_000)).toBe(4);
  expect(fullestWindow([0, 1_000, 2_000], 1_000)).toBe(1);
  expect(fullestWindow([5, 5, 5], 1_000)).toBe(3);
});

describe('the judge finds denials that had room', () => {
  const denied = (sentMs: number, answeredMs: number) => ({ admitted: false, sentMs, answeredMs });

  test('between full windows', () => {
    // Two in a thousand milliseconds: full from 500 to 1000 and from 1200 to 1500.
    const stamps = [0, 500, 1_200];
    expect(wrongDenials([denied(600, 610), denied(1_300, 1_310)], stamps, 2, 1_000)).toBe(0);
    expect(wrongDenials([denied(100, 110), denied(1_050, 1_060)], stamps, 2, 1_000)).toBe(2);
    expect(wrongDenials([denied(1_600, 1_700)], stamps, 2, 1_000)).toBe(1);
  });

  test('with stamps of the same millisecond', () => {
    const stamps = [0, 500];
    expect(wrongDenials([denied(499, 500), denied(999, 999)], stamps, 2, 1_000)).toBe(0);
    expect(wrongDenials([denied(499, 499), denied(1_000, 1_000)], stamps, 2, 1_000)).toBe(2);
  });

  test('if no window is ever full', () => {
    expect(wrongDenials([denied(0, 9_000)], [0, 1_000, 2_000], 2, 1_000)).toBe(1);
  });
});

describe('the judge compares admissions that clients saw with those that Redis counted', () => {
  const admitted = { admitted: true, sentMs: 0, answeredMs: 5 };
  const judged = (stampsMs: readonly number[], unmeasured = 0) =>
    judge([{ requests: [admitted, admitted], unmeasured, stampsMs }], 2, 1_000);

  test.each([
    ['each counted once', [1, 2], 0, { uncounted: 0, overcounted: 0 }],
    ['one not counted', [1], 0, { uncounted: 1, overcounted: 0 }],
    ['one counted twice', [1, 2, 2], 0, { uncounted: 0, overcounted: 1 }],
    ['one counted that was not answered', [1, 2, 2], 1, { uncounted: 0, overcounted: 0 }],
    ['one not counted, and another not answered', [1], 1, { uncounted: 1, overcounted: 0 }],
  ])('%s', (_, stampsMs, unmeasured, sums) => {
    expect(judged(stampsMs, unmeasured)).toMatchObject({ admissions: 2, unmeasured, ...sums });
  });

  test('every window over the limit', () => {
    expect(judged([1, 2])).toMatchObject({ fullestWindow: 2, windowsOver: 0 });
    expect(judged([1, 2, 3, 4])).toMatchObject({ fullestWindow: 4, windowsOver: 2 });
  });

  test('every step back in time', () => {
    expect(judged([1, 3, 2, 2, 1])).toMatchObject({ disordered: 2 });
  });
});

test('reads the time from a log entry', () => {
  const period = 2 ** 32;
  for (const stampMs of [1_795_263_752_053, 418 * period - 1, 418 * period, 418.5 * period]) {
    const entry = (stampMs % period) - 2 ** 31;
    for (const seenMs of [stampMs, stampMs + 3, stampMs - 1, stampMs + 3_600_000]) {
      expect(stampOf(entry, seenMs)).toBe(stampMs);
    }
  }
  expect(() => stampOf(2 ** 32 * 3 + 5, 0)).toThrow('no log entry');
});
