/** The judge of the soak notices leaks in a recorded run, and accepts the record as it is. */
import { expect, test } from 'vitest';
import { judgeGrowth, type SoakBars, slopeOf, withLeak } from './judge.ts';
import type { Sample } from './watch.ts';

const BARS: SoakBars = { mostMiBPerHour: 1_000, mostRedisGrowth: 0.25 };

test('fits a line, with its confidence interval', () => {
  const hourMs = 3_600_000;
  const exact = slopeOf([0, 1, 2, 3, 4].map((i) => [i * hourMs, 7 + 3 * i]));
  expect(exact.perHour).toBeCloseTo(3);
  expect(exact.plusMinus).toBeCloseTo(0);
  // Student's t with three degrees of freedom is 3.18; the error of the slope is sqrt(4 / 3 / 10).
  const noisy = slopeOf([1, -1, 0, -1, 1].map((noise, i) => [i * hourMs, 3 * i + noise]));
  expect(noisy.perHour).toBeCloseTo(3);
  expect(noisy.plusMinus).toBeCloseTo(3.18 * Math.sqrt(4 / 3 / 10), 1);
});

/** Of a soak of two minutes: seconds, MiB of RSS and heap, keys and MiB of Redis. */
const RECORDED = [
  [46, 158.9, 45.6, 6002, 2.65],
  [48, 159.1, 45.8, 5081, 2.51],
  [50, 159.1, 48.1, 5413, 2.54],
  [52, 161.5, 42.3, 4411, 2.36],
  [54, 161.9, 46.1, 4967, 2.46],
  [56, 161.9, 45.2, 3434, 2.17],
  [58, 162.2, 47.9, 4936, 2.48],
  [60, 161.3, 29.5, 5304, 2.52],
  [62, 161.1, 29.4, 4381, 2.38],
  [64, 161.1, 32.2, 5054, 2.5],
  [66, 161.6, 32.1, 4159, 2.32],
  [68, 161.8, 35.4, 4962, 2.47],
  [70, 161.8, 35.2, 5409, 2.54],
  [72, 161.6, 42.8, 4418, 2.36],
  [74, 161.6, 42.5, 4760, 2.44],
  [76, 162.1, 45.9, 3504, 2.19],
  [78, 162.3, 45.7, 5108, 2.52],
  [80, 161.4, 31.4, 5471, 2.58],
  [82, 161.3, 30.9, 4418, 2.38],
  [84, 161.3, 34, 4976, 2.46],
  [86, 161.7, 34.3, 3740, 2.23],
  [88, 161.9, 37.3, 4864, 2.45],
  [90, 162, 37.3, 5520, 2.58],
  [92, 161.3, 40.6, 4407, 2.39],
  [94, 161.3, 43.4, 4825, 2.45],
  [96, 161.3, 43.3, 3449, 2.2],
  [98, 162, 47.2, 4984, 2.5],
  [100, 162, 46.6, 5352, 2.53],
  [102, 161.4, 30.9, 4436, 2.37],
  [104, 161.4, 33.7, 4917, 2.45],
  [106, 161.5, 34.4, 6061, 2.67],
  [108, 162.2, 34.2, 5023, 2.48],
] as const;
const CLIENTS_PER_SECOND = 569;

const SAMPLES = RECORDED.map(
  ([second, rssMiB, heapMiB, redisKeys, redisMiB]): Sample => ({
    atMs: second * 1_000,
    rssBytes: rssMiB * 2 ** 20,
    heapBytes: heapMiB * 2 ** 20,
    files: 92,
    sockets: 71,
    redisKeys,
    redisKeysForEver: 1,
    redisBytes: redisMiB * 2 ** 20,
    series: 51,
    clients: second * CLIENTS_PER_SECOND,
  }),
);

test('accepts a record without a leak', () => {
  expect(judgeGrowth(SAMPLES, BARS)).toEqual([]);
});

test.each([
  ['1 KB of memory', { memoryBytes: 1_000 }, [/^the RSS grows/, /^the heap grows/]],
  ['a tenth of a key', { redisKeys: 0.1 }, [/^the keys of Redis grow/]],
  ['100 bytes of Redis', { redisBytes: 100 }, [/^the memory of Redis grow/]],
])('notices a leak of %s per client', (_, leak, rules) => {
  const wrong = judgeGrowth(withLeak(SAMPLES, leak), BARS);
  expect(wrong).toEqual(rules.map((rule) => expect.stringMatching(rule)));
});
