import { describe, expect, test } from 'vitest';
import { denialsOf, measure } from '../../../../../src/cli/evidence/suggest/measure.ts';
import { eachDayPeak, peaksOf } from '../../../../../src/cli/evidence/suggest/peaks.ts';
import { STRATA } from '../../../../../src/cli/evidence/suggest/strata.ts';
import { trafficIn } from '../../../../../src/cli/evidence/suggest/traffic.ts';
import { Random } from '../../../../support/random.ts';
import { entryOf, LOG_START_MS, trafficLogOf } from '../../../../support/traffic.ts';

const DAY_MS = 86_400_000;
const ALWAYS = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

function peaksIn(timesMs: readonly number[], windowMs: number): [number, number][] {
  const found: [number, number][] = [];
  eachDayPeak(Float64Array.from(timesMs), windowMs, (day, peak) => found.push([day, peak]));
  return found;
}

describe('peaks', () => {
  test('are those of sliding windows, wherever they start', () => {
    expect(peaksIn([59_000, 59_500, 60_000, 60_500], 60_000)).toEqual([[0, 4]]);
  });

  test('leave out a request that is exactly one window old, as the store does', () => {
    expect(peaksIn([0, 60_000], 60_000)).toEqual([[0, 1]]);
    expect(peaksIn([1, 60_000], 60_000)).toEqual([[0, 2]]);
  });

  test('of a day may include requests of the evening before', () => {
    expect(peaksIn([DAY_MS - 2, DAY_MS - 1, DAY_MS], 1_000)).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });

  test('are found where counting each window finds them', () => {
    const random = new Random(7);
    for (let round = 0; round < 50; round++) {
      const times = Array.from({ length: 200 }, () => random.below(30_000)).sort((a, b) => a - b);
      const greatest = Math.max(
        ...times.map((end) => times.filter((at) => at <= end && at > end - 1_000).length),
      );
      expect(peaksIn(times, 1_000)).toEqual([[0, greatest]]);
    }
  });
});

test('a limit at the peak denies nothing, one below it denies', () => {
  const random = new Random(3);
  const times = Float64Array.from({ length: 500 }, () => random.below(3_600_000)).sort();
  const [[, peak] = [0, 0]] = peaksIn([...times], 60_000);
  expect(denialsOf(times, [{ limit: peak, windowMs: 60_000 }]).requests).toBe(0);
  expect(denialsOf(times, [{ limit: peak - 1, windowMs: 60_000 }]).requests).toBeGreaterThan(0);
});

test('measuring skips clients whose peaks fit, and counts the same as without that', () => {
  const random = new Random(5);
  const entries = Array.from({ length: 20_000 }, () => {
    const client = Math.floor(30 * random.next() ** 2);
    const startMs = LOG_START_MS + random.below(2 * DAY_MS);
    return entryOf(startMs, { address: `20.0.0.${client}` });
  });
  const [traffic] = trafficIn(
    trafficLogOf(entries, 'version: 1\ndefault: { limits: [1/1s] }').recorded(),
    ALWAYS,
  ).byRoute;
  if (traffic === undefined) throw new Error('no route');
  const limits = [
    { limit: 5, windowMs: 60_000 },
    { limit: 20, windowMs: 3_600_000 },
  ];
  let denied = 0;
  traffic.eachClient((_, timesMs) => {
    denied += denialsOf(timesMs, limits).requests;
  });
  const measured = measure(peaksOf(traffic), limits);
  expect(denied).toBeGreaterThan(0);
  expect(STRATA.reduce((sum, each) => sum + measured[each].requests.denied, 0)).toBe(denied);
  expect(STRATA.reduce((sum, each) => sum + measured[each].requests.of, 0)).toBe(20_000);
});
