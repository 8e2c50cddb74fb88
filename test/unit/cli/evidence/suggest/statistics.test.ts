import { describe, expect, test } from 'vitest';
import { countValue, type Histogram } from '../../../../../src/cli/evidence/maps.ts';
import {
  addCluster,
  bestFloor,
  daysNeeded,
  gapsAbove,
  noClusters,
  shareOfClusters,
  shareOfTrials,
  valuesAbove,
} from '../../../../../src/cli/evidence/suggest/statistics.ts';
import { roundDown, roundUp } from '../../../../../src/cli/evidence/suggest/windows.ts';
import { Random } from '../../../../support/random.ts';

function histogramOf(values: Iterable<number>): Histogram {
  const histogram: Histogram = new Map();
  for (const value of values) countValue(histogram, value);
  return histogram;
}

describe('the floor', () => {
  test('needs 299 client-days for p99 and 2995 for p99.9', () => {
    expect([0.99, 0.999].map(daysNeeded)).toEqual([299, 2_995]);
    expect([298, 299].map((days) => valuesAbove(days, 0.99))).toEqual([undefined, 0]);
    expect([2_994, 2_995].map((days) => valuesAbove(days, 0.999))).toEqual([undefined, 0]);
  });

  test('is of the highest quantile that there is evidence for', () => {
    const quantiles = [28, 29, 59, 299, 2_995].map(
      (days) => bestFloor(histogramOf(Array(days).keys()))?.quantile,
    );
    expect(quantiles).toEqual([undefined, 0.9, 0.95, 0.99, 0.999]);
  });

  test('is the maximum with just enough evidence, and lower with more', () => {
    expect(bestFloor(histogramOf(Array(299).keys()))?.bound).toBe(298);
    expect(valuesAbove(100_000, 0.999)).toBeGreaterThan(50);
    expect(valuesAbove(100_000, 0.999)).toBeLessThan(100);
  });

  test('lies above the true quantile in 95 of 100 samples', () => {
    const random = new Random(1);
    let misses = 0;
    for (let sample = 0; sample < 400; sample++) {
      const values = Array.from({ length: 1_000 }, () => random.below(1_000_000));
      const above = valuesAbove(values.length, 0.99) ?? 0;
      const bound = values.sort((a, b) => a - b)[values.length - 1 - above] ?? 0;
      if (bound < 990_000) misses++;
    }
    expect(misses).toBeLessThan(0.075 * 400);
    expect(misses).toBeGreaterThan(0);
  });
});

describe('gaps', () => {
  const gapsIn = (peaks: readonly number[], floor: number) =>
    gapsAbove(
      peaks.map((peak) => [peak, 1]),
      floor,
      2,
    );

  test('are those above the floor, from the lowest', () => {
    expect(gapsIn([1, 20, 30, 50, 800, 3_000], 30)).toEqual([
      { from: 50, to: 800, ratio: 16 },
      { from: 800, to: 3_000, ratio: 3.75 },
    ]);
  });

  test('may begin at the floor', () => {
    expect(gapsIn([1, 20, 100], 25)).toEqual([{ from: 25, to: 100, ratio: 4 }]);
  });

  test('are at least twofold', () => {
    expect(gapsIn([10, 19, 37], 10)).toEqual([]);
    expect(gapsIn([10, 20], 10)).toHaveLength(1);
  });
});

test('round numbers are 1, 1.5, 2, 3 and 5 times a power of ten', () => {
  expect([0, 1, 1.1, 4, 11, 16, 151, 501].map(roundUp)).toEqual([1, 1, 2, 5, 15, 20, 200, 1_000]);
  expect([0, 1, 4, 14, 19, 999].map(roundDown)).toEqual([1, 1, 3, 10, 15, 500]);
});

describe('intervals', () => {
  test('of few trials are wide, and hold no share below 0 or above 1', () => {
    expect(shareOfTrials(0, 10)).toMatchObject({ share: 0, low: 0 });
    expect(shareOfTrials(0, 10).high).toBeCloseTo(0.278, 3);
    expect(shareOfTrials(10, 10).high).toBe(1);
    expect(shareOfTrials(0, 0)).toMatchObject({ low: 0, high: 1 });
  });

  test('of requests are as wide as clients differ', () => {
    const alike = noClusters();
    const different = noClusters();
    for (let i = 0; i < 100; i++) {
      addCluster(alike, 1, 10);
      addCluster(different, i < 10 ? 10 : 0, 10);
    }
    expect(shareOfClusters(alike).low).toBeCloseTo(0.1, 6);
    expect(shareOfClusters(alike).high).toBeCloseTo(0.1, 6);
    const { share, low, high } = shareOfClusters(different);
    expect(share).toBe(0.1);
    expect(high - low).toBeCloseTo(2 * 1.96 * Math.sqrt((0.1 * 0.9) / 99), 2);
  });
});
