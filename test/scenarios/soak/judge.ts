/** Fits a line through everything that could grow, and reports what grows too fast or is otherwise wrong. */
import { CONNECTIONS, type SoakOptions, type SoakRun } from './run.ts';
import type { Sample } from './watch.ts';

/** Series of rare events, such as a late answer of Redis, appear with the first event. */
const FIRST_TIMES = 5;
/** `hg:v1:salt:kept`. */
const KEPT_KEYS = 1;
/** Connections of the scrape, and files that are open while they are read. */
const OTHER_FILES = 4;

/** Maximum growth: more than noise, less than a leak. */
export interface SoakBars {
  /** Of the RSS and of the heap in use. */
  readonly mostMiBPerHour: number;
  /** Of the keys and of the memory of Redis, over the whole run: a share of their mean. */
  readonly mostRedisGrowth: number;
}

const SMALL_HEAP_MIB = 128;

/** A gateway that leaks 3 KB per client grows by 2,400 MiB/h here. The long form notices 50 bytes. */
export const SHORT_SOAK = {
  warmUpMs: 7_000,
  measuredMs: 10_000,
  perSecond: 400,
  windowSeconds: 2,
  cachedDenials: 10,
  sampleEveryMs: 500,
  reloadEveryMs: 4_000,
  otherKeys: 0,
  heapMiB: SMALL_HEAP_MIB,
  collectEveryMs: 500,
} as const satisfies Omit<SoakOptions, 'redisUrl'>;
export const SHORT_BARS: SoakBars = { mostMiBPerHour: 1_500, mostRedisGrowth: 1.5 };

/** A heap without a maximum takes some ten minutes to find its size. */
const WHOLE_FORM_MINUTES = 30;

/** The whole form starts the gateway as users do. A shorter run has a small heap, which soon stops growing. */
export function longSoak(minutes: number): Omit<SoakOptions, 'redisUrl'> {
  const wholeMs = minutes * 60_000;
  const warmUpMs = wholeMs / 3;
  return {
    warmUpMs,
    measuredMs: wholeMs - warmUpMs,
    perSecond: 1_000,
    windowSeconds: 5,
    cachedDenials: 100,
    sampleEveryMs: 5_000,
    reloadEveryMs: 60_000,
    otherKeys: 2_000,
    ...(minutes < WHOLE_FORM_MINUTES && { heapMiB: SMALL_HEAP_MIB }),
  };
}

/** In the whole form 50 bytes per client. A short run has as much garbage as a long one. */
export function longBars(minutes: number): SoakBars {
  return { mostMiBPerHour: (100 * WHOLE_FORM_MINUTES) / minutes, mostRedisGrowth: 0.1 };
}

export interface Slope {
  readonly perHour: number;
  /** Half of the 95 % confidence interval. */
  readonly plusMinus: number;
}

export interface SoakSlopes {
  readonly rss: Slope;
  readonly heap: Slope;
  readonly redisKeys: Slope;
  readonly redisBytes: Slope;
}

const HOUR_MS = 3_600_000;
export const MIB = 2 ** 20;
const BUCKETS = 10;

export function slopesOf(samples: readonly Sample[]): SoakSlopes {
  return {
    rss: slopeOf(floorOf(samples, ({ rssBytes }) => rssBytes)),
    heap: slopeOf(floorOf(samples, ({ heapBytes }) => heapBytes)),
    redisKeys: slopeOf(samples.map(({ atMs, redisKeys }) => [atMs, redisKeys])),
    redisBytes: slopeOf(samples.map(({ atMs, redisBytes }) => [atMs, redisBytes])),
  };
}

/** The lowest value of each tenth of the run: there is the least garbage, so growth is a leak. */
function floorOf(samples: readonly Sample[], value: (sample: Sample) => number): Point[] {
  const size = Math.ceil(samples.length / BUCKETS);
  const floor: Point[] = [];
  for (let start = 0; start < samples.length; start += size) {
    const lowest = samples
      .slice(start, start + size)
      .reduce((low, each) => (value(each) < value(low) ? each : low));
    floor.push([lowest.atMs, value(lowest)]);
  }
  return floor;
}

type Point = readonly [atMs: number, value: number];

/** By least squares. */
export function slopeOf(points: readonly Point[]): Slope {
  const n = points.length;
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / n;
  const meanMs = mean(points.map(([atMs]) => atMs));
  const meanValue = mean(points.map(([, value]) => value));
  const spread = points.reduce((sum, [atMs]) => sum + (atMs - meanMs) ** 2, 0);
  const together = points.reduce(
    (sum, [atMs, value]) => sum + (atMs - meanMs) * (value - meanValue),
    0,
  );
  const perMs = together / spread;
  const residue = points.reduce(
    (sum, [atMs, value]) => sum + (value - meanValue - perMs * (atMs - meanMs)) ** 2,
    0,
  );
  const errorPerMs = Math.sqrt(residue / (n - 2) / spread);
  return { perHour: perMs * HOUR_MS, plusMinus: studentOf(n - 2) * errorPerMs * HOUR_MS };
}

/** The 97.5 % quantile of Student's t, to 1 % from three degrees of freedom on. */
function studentOf(degrees: number): number {
  const normal = 1.96;
  return normal + (normal ** 3 + normal) / (4 * degrees) + 2.8 / degrees ** 2 + 2.5 / degrees ** 3;
}

/** Returns the expectations that were not met. */
export function judgeSoak(run: SoakRun, bars: SoakBars): string[] {
  return [...judgeCounts(run), ...judgeGrowth(run.samples, bars)];
}

function judgeCounts(run: SoakRun): string[] {
  const wrong: string[] = [];
  const { samples, filesAtRest } = run;
  // A thread that reads a file has it open for a moment.
  const mostFiles = Math.max(...floorOf(samples, ({ files }) => files).map(([, files]) => files));
  const series = new Set(samples.map((sample) => sample.series));
  const forEver = new Set(samples.map((sample) => sample.redisKeysForEver));
  if (run.failures > 0)
    wrong.push(`every request is answered: ${run.failures} were not (${run.failed.join(', ')})`);
  if (run.unenforced > 0)
    wrong.push(`Redis decides every request: ${run.unenforced} times it did not`);
  if (run.denied === 0 || run.rememberedDenials === 0)
    wrong.push('clients that keep retrying are denied, also from the cache');
  if (run.reloadsCounted !== run.reloads)
    wrong.push(`${run.reloads} reloads are counted: ${run.reloadsCounted}`);
  if (mostFiles > filesAtRest + CONNECTIONS + OTHER_FILES)
    wrong.push(
      `connections are closed: ${mostFiles} open files, ${filesAtRest} without ${CONNECTIONS} clients`,
    );
  if (Math.max(...series) - Math.min(...series) > FIRST_TIMES)
    wrong.push(`the number of series stays the same: ${[...series].join(', ')}`);
  // The secret that all gateways keep is the only key without an end.
  if (forEver.size !== 1 || !forEver.has(KEPT_KEYS))
    wrong.push(`every key but the kept secret expires: ${Math.max(...forEver)} do not`);
  if (run.keysAfter > run.keysBefore)
    wrong.push(
      `Redis holds as many keys after the load as before: ${run.keysBefore}, ${run.keysAfter}`,
    );
  return wrong;
}

export function judgeGrowth(samples: readonly Sample[], bars: SoakBars): string[] {
  const wrong: string[] = [];
  const slopes = slopesOf(samples);
  for (const [name, { perHour }] of [
    ['RSS', slopes.rss],
    ['heap', slopes.heap],
  ] as const) {
    if (perHour > bars.mostMiBPerHour * MIB)
      wrong.push(
        `the ${name} grows by at most ${bars.mostMiBPerHour} MiB/h: ${(perHour / MIB).toFixed(1)}`,
      );
  }
  const growths = [
    ['keys', growthOf(samples, slopes.redisKeys, ({ redisKeys }) => redisKeys)],
    ['memory', growthOf(samples, slopes.redisBytes, ({ redisBytes }) => redisBytes)],
  ] as const;
  for (const [name, growth] of growths) {
    if (growth > bars.mostRedisGrowth)
      wrong.push(
        `the ${name} of Redis grow by at most ${percent(bars.mostRedisGrowth)}: ${percent(growth)}`,
      );
  }
  return wrong;
}

/** Over the time that the samples cover, as a share of their mean. */
export function growthOf(
  samples: readonly Sample[],
  { perHour }: Slope,
  value: (sample: Sample) => number,
): number {
  const [first, last] = [samples[0] as Sample, samples.at(-1) as Sample];
  const mean = samples.reduce((sum, sample) => sum + value(sample), 0) / samples.length;
  return (perHour * (last.atMs - first.atMs)) / HOUR_MS / mean;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** The record of a gateway that leaks so much per client. */
export function withLeak(
  samples: readonly Sample[],
  { memoryBytes = 0, redisKeys = 0, redisBytes = 0 },
): Sample[] {
  return samples.map((sample) => ({
    ...sample,
    rssBytes: sample.rssBytes + sample.clients * memoryBytes,
    heapBytes: sample.heapBytes + sample.clients * memoryBytes,
    redisKeys: sample.redisKeys + sample.clients * redisKeys,
    redisBytes: sample.redisBytes + sample.clients * redisBytes,
  }));
}
