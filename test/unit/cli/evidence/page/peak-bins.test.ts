import { expect, test } from 'vitest';
import { summaryOf } from '../../../../../src/cli/evidence/page/peak-bins.ts';

type Peaks = [number, number][];
const summary = (limit: number, peaks: Peaks) =>
  summaryOf({ label: 'login/1', allows: '', limit, peaks });
const filled = (limit: number, peaks: Peaks) =>
  summary(limit, peaks)
    .bins.filter(({ clients }) => clients > 0)
    .map(({ least, most, clients, isOver }) => [least, most, clients, isOver]);

test('each low peak has its bin', () => {
  const peaks: Peaks = [
    [1, 40],
    [5, 3],
    [6, 2],
  ];
  expect(filled(5, peaks)).toEqual([
    [1, 1, 40, false],
    [5, 5, 3, false],
    [6, 6, 2, true],
  ]);
  expect(summary(5, peaks)).toMatchObject({
    clients: 45,
    over: 2,
    highest: 6,
    isLogarithmic: false,
  });
});

test('bins grow with the peaks, and none has the limit inside', () => {
  const peaks: Peaks = [
    [1, 900],
    [137, 10],
    [138, 1],
    [1_250, 4],
    [5_001, 2],
  ];
  expect(filled(137, peaks)).toEqual([
    [1, 1, 900, false],
    [120, 137, 10, false],
    [138, 149, 1, true],
    [1_200, 1_499, 4, true],
    [5_000, 5_002, 2, true],
  ]);
  expect(summary(137, peaks)).toMatchObject({ clients: 917, over: 7, isLogarithmic: true });
});

test('the median and the 99th percentile are peaks that clients have', () => {
  const peaks: Peaks = [
    [1, 50],
    [2, 48],
    [9, 1],
    [70, 1],
  ];
  expect(summary(5, peaks)).toMatchObject({ median: 1, p99: 9, highest: 70 });
});

test('the number of bins is small, however high the peaks are', () => {
  expect(
    summary(1_000_000, [
      [1, 1],
      [90_000_000, 1],
    ]).bins.length,
  ).toBeLessThan(100);
});
