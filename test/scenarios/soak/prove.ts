/** The long form: half an hour of clients that come and go, with a straight line fitted through what could grow. */
import { printTable, type Row } from '../../../tools/table.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { defineScenario } from '../scenario.ts';
import {
  growthOf,
  judgeGrowth,
  judgeSoak,
  longBars,
  longSoak,
  MIB,
  type Slope,
  type SoakBars,
  slopesOf,
  withLeak,
} from './judge.ts';
import { runSoak, type SoakRun } from './run.ts';
import type { Sample } from './watch.ts';

const ROWS = 12;
/** A leak of the gateway per client that the judge must notice. */
const PLANTED_BYTES = 1_000;

export const scenario = defineScenario({
  proves: 'memory, open files and keys do not grow while a million clients come and go',
  takes: '30 min',
  options: { minutes: { default: 30, least: 3, help: 'how long the load runs' } },
  async prove({ minutes }) {
    await using redis = await startRedisServer();
    const bars = longBars(minutes);
    const run = await runSoak({ ...longSoak(minutes), redisUrl: redis.url });
    printRun(run, minutes);
    printSlopes(run, bars);
    const wrong = judgeSoak(run, bars);
    const planted = withLeak(run.samples, { memoryBytes: PLANTED_BYTES });
    if (judgeGrowth(planted, bars).length < 2)
      wrong.push(`the judge notices a leak of ${PLANTED_BYTES} bytes per client`);
    return wrong;
  },
});

function printRun({ samples, ...run }: SoakRun, minutes: number): void {
  console.log(
    `${run.requests} requests of ${run.clients} clients in ${minutes} minutes: ${run.allowed} allowed, ${run.denied} denied ` +
      `(${run.rememberedDenials} from the cache), ${run.failures} failed, ${run.reloads} reloads\n`,
  );
  const step = Math.max(1, Math.floor(samples.length / ROWS));
  printTable(samples.filter((_, i) => i % step === 0).map(sampleRow));
  console.log(
    `\nRedis held ${run.keysBefore} keys before, and ${run.keysAfter} after all windows had passed\n`,
  );
}

function printSlopes({ samples }: SoakRun, bars: SoakBars): void {
  const slopes = slopesOf(samples);
  printTable([
    slopeRow('RSS', slopes.rss, `${bars.mostMiBPerHour.toFixed(0)} MiB/h`),
    slopeRow('heap in use', slopes.heap, `${bars.mostMiBPerHour.toFixed(0)} MiB/h`),
    slopeRow(
      'memory of Redis',
      slopes.redisBytes,
      share(bars.mostRedisGrowth),
      share(growthOf(samples, slopes.redisBytes, ({ redisBytes }) => redisBytes)),
    ),
    {
      'grows by': 'keys of Redis',
      'per hour': slopes.redisKeys.perHour.toFixed(0),
      'give or take': slopes.redisKeys.plusMinus.toFixed(0),
      'over the run': share(growthOf(samples, slopes.redisKeys, ({ redisKeys }) => redisKeys)),
      'at most': share(bars.mostRedisGrowth),
    },
  ]);
}

function sampleRow(sample: Sample): Row {
  return {
    minute: (sample.atMs / 60_000).toFixed(1),
    clients: String(sample.clients),
    RSS: mib(sample.rssBytes),
    'heap in use': mib(sample.heapBytes),
    'open files': String(sample.files),
    sockets: String(sample.sockets),
    series: String(sample.series),
    'keys of Redis': String(sample.redisKeys),
    'its memory': mib(sample.redisBytes),
  };
}

function slopeRow(name: string, { perHour, plusMinus }: Slope, bar: string, growth = ''): Row {
  return {
    'grows by': name,
    'per hour': mib(perHour),
    'give or take': mib(plusMinus),
    'over the run': growth,
    'at most': bar,
  };
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

function share(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}
