import { describe, expect, test } from 'vitest';
import { timeSeriesOf, timeTableOf } from '../../../../../src/cli/evidence/page/time-series.ts';
import type { MinutePoint } from '../../../../../src/cli/evidence/replay/charts.ts';

const START_MS = Date.UTC(2026, 0, 5);
const MINUTE_MS = 60_000;
const at = (minute: number, requests: number, denied = 0): MinutePoint => [
  START_MS + minute * MINUTE_MS,
  requests,
  denied,
];
const policy = (name: string, ...minutes: MinutePoint[]) => ({ name, minutes });

describe('the points of a plot', () => {
  test('are minutes, with zeros where there were no requests, the same ones for all policies', () => {
    expect(timeSeriesOf([policy('a', at(1, 5, 2), at(3, 7)), policy('b', at(0, 1))])).toEqual({
      fromMs: START_MS,
      minutesPerPoint: 1,
      policies: [
        { requests: [0, 5, 0, 7], denied: [0, 2, 0, 0] },
        { requests: [1, 0, 0, 0], denied: [0, 0, 0, 0] },
      ],
    });
  });

  test('are at most 4,000, and keep the highest minutes', () => {
    const minutes = Array.from({ length: 10_080 }, (_, i) => at(i, 1));
    minutes[5_001] = at(5_001, 900, 4);
    minutes[5_002] = at(5_002, 800, 600);
    const series = timeSeriesOf([policy('a', ...minutes)]);
    const [points] = series?.policies ?? [];
    expect(series?.minutesPerPoint).toBe(3);
    expect(points?.requests).toHaveLength(3_360);
    expect(points?.requests[1_667]).toBe(900);
    expect(points?.denied[1_667]).toBe(600);
  });

  test('do not exist without requests', () => {
    expect(timeSeriesOf([policy('a')])).toBeUndefined();
    expect(timeSeriesOf([])).toBeUndefined();
  });
});

describe('the rows of a table', () => {
  test('are minutes of a short log', () => {
    const { minutesPerRow, rows } = timeTableOf([at(1, 5, 2), at(3, 7)]);
    expect(minutesPerRow).toBe(1);
    expect(rows.map(({ atMs, requests, denied }) => [atMs, requests, denied])).toEqual([
      at(1, 5, 2),
      at(3, 7),
    ]);
  });

  test('are sums of a long log, with the highest minutes', () => {
    const minutes = Array.from({ length: 10_080 }, (_, i) => at(i, 2, i % 2));
    const { minutesPerRow, rows } = timeTableOf(minutes);
    expect(minutesPerRow).toBe(60);
    expect(rows).toHaveLength(168);
    expect(rows[1]).toEqual({
      atMs: START_MS + 60 * MINUTE_MS,
      requests: 120,
      denied: 30,
      mostRequests: 2,
      mostDenied: 1,
    });
  });

  test('are few, however long the log is', () => {
    const { rows } = timeTableOf(Array.from({ length: 3_000 }, (_, i) => at(i * 1_440, 1)));
    expect(rows.length).toBeLessThanOrEqual(201);
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(3_000);
  });
});
