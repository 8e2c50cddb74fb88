/**
 * Proves that a gateway holds no more after a million clients than before: what could grow is looked at for `--minutes`,
 * and the line through it is held against a bar. Exits with 1 if anything is wrong. Linux only.
 */
import { parseArgs } from 'node:util';
import { printTable, type Row } from '../../bench/support/table.ts';
import { startRedisServer } from '../support/redis-server.ts';
import {
  growthOf,
  judgeGrowth,
  judgeSoak,
  longBars,
  longSoak,
  MIB,
  runSoak,
  type Sample,
  type Slope,
  slopesOf,
  withLeak,
} from '../support/soak-run.ts';

const ROWS = 12;
/** A leak that must be seen: of the memory of the gateway, for every client. */
const PLANTED_BYTES = 1_000;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const minutes = Number(values.minutes);
if (!(minutes >= 3)) throw new RangeError('--minutes must be a number from 3 on');

await using redis = await startRedisServer();
const options = longSoak(minutes);
const bars = longBars(minutes);
const run = await runSoak({ ...options, redisUrl: redis.url });
const { samples } = run;
const slopes = slopesOf(samples);

console.log(
  `${run.requests} requests of ${run.clients} clients in ${minutes} minutes: ${run.allowed} allowed, ${run.denied} denied ` +
    `(${run.rememberedDenials} from memory), ${run.failures} failed, ${run.reloads} reloads\n`,
);
const step = Math.max(1, Math.floor(samples.length / ROWS));
printTable(samples.filter((_, i) => i % step === 0).map(sampleRow));
console.log();
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
console.log(
  `\nRedis held ${run.keysBefore} keys before, and ${run.keysAfter} when all windows were over\n`,
);

const wrong = judgeSoak(run, bars);
const planted = withLeak(samples, { memoryBytes: PLANTED_BYTES });
if (judgeGrowth(planted, bars).length < 2)
  wrong.push(`the judge sees ${PLANTED_BYTES} bytes per client`);
for (const each of wrong) console.log(`NOT SO, ${each}`);
if (wrong.length === 0) console.log('flat');
process.exitCode = wrong.length === 0 ? 0 : 1;

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
