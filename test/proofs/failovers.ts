/**
 * Shows what clients see when Redis changes hands: masters of sentinels and of a cluster are lost, replaced, frozen and
 * cut off, slots move, a node hangs. `--failovers` is how many masters of each are killed, `--rate` the requests per
 * second, `--quiet-seconds` the time before every fault. Exits with 1 if anything is wrong.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../../bench/support/table.ts';
import { type Figures, figuresOf, type Share, whatIsWrong } from '../support/failover-judge.ts';
import { LIMITED_LIMIT, LIMITED_WINDOW_MS } from '../support/failover-load.ts';
import {
  type FailoverRun,
  runClusterFailovers,
  runHungNode,
  runResharding,
  runSentinelFailovers,
} from '../support/failover-run.ts';

const { values } = parseArgs({
  options: {
    failovers: { type: 'string', default: '5' },
    rate: { type: 'string', default: '600' },
    // As long as a window, so that none holds two failovers.
    'quiet-seconds': { type: 'string', default: String(LIMITED_WINDOW_MS / 1_000) },
  },
});
const failovers = Number(values.failovers);
const options = {
  perSecond: Number(values.rate),
  quietMs: Number(values['quiet-seconds']) * 1_000,
};
if (!(failovers >= 1 && options.perSecond >= 100 && options.quietMs >= 1_000)) {
  throw new RangeError('--failovers from 1, --rate from 100 and --quiet-seconds from 1 on');
}
const killed = Array.from({ length: failovers }, () => 'killed' as const);
const HUNG_MS = 4_000;

console.log(
  `2 gateways, ${options.perSecond} requests per second, limits of ${LIMITED_LIMIT} per ${LIMITED_WINDOW_MS} ms\n`,
);
const wrong: string[] = [];
await show('Sentinel', () =>
  runSentinelFailovers([...killed, 'planned', 'frozen', 'cut off'], options),
);
await show('Cluster', () => runClusterFailovers([...killed, 'planned'], options));
const moved = await show('slots move', () => runResharding({ slots: 60, crowd: 4 }, options));
if (moved !== undefined && moved.forgotten > 0) wrong.push('slots move: no count is lost');
await show('a node hangs', () => runHungNode(HUNG_MS, options));

for (const each of wrong) console.log(`NOT SO, ${each}`);
if (wrong.length === 0)
  console.log('nothing fails, nobody waits, and what is forgotten is bounded');
process.exitCode = wrong.length === 0 ? 0 : 1;

async function show(name: string, experiment: () => Promise<FailoverRun>) {
  const run = await experiment().catch((error: Error) => {
    wrong.push(`${name}: ${error.message}`);
  });
  if (run === undefined) return undefined;
  const figures = figuresOf(run);
  wrong.push(...whatIsWrong(figures).map((rule) => `${name}: ${rule}`));
  const { answers, forgotten, noiseMs } = figures;
  const failures = Object.entries(run.failures).map(([reason, count]) => `${count} ${reason}`);
  console.log(
    `${name}: ${answers} answers, ${figures.serverErrors} of them 5xx, ${figures.unanswered} missing; ` +
      `${forgotten} admissions forgotten; slowest answer in quiet times ${ms(noiseMs)}; ` +
      `calls of Redis that failed: ${failures.join(', ') || 'none'}; given up ${run.givenUp} times\n`,
  );
  printTable(timesOf(figures));
  console.log();
  printTable(countsOf(figures));
  console.log();
  return figures;
}

function timesOf({ turns }: Figures) {
  return turns.map(({ turn, slowestMs, slowestExemptMs, waited }) => ({
    'a master is': turn.fault,
    'replaced after': ms(turn.promotedMs),
    'left after': ms(turn.leftMs),
    'measured again after': ms(turn.recoveredMs),
    'since replaced': ms(turn.recoveredMs - turn.promotedMs),
    'known and heard again': ms(turn.sharedMs),
    'slowest answer': ms(slowestMs),
    'without Redis': ms(slowestExemptMs),
    'waited 50 ms': String(waited),
  }));
}

function countsOf({ turns }: Figures) {
  return turns.map((each) => ({
    'a master is': each.turn.fault,
    'measured meanwhile, its slots': share(each.meanwhile.affected),
    'other slots': share(each.meanwhile.others),
    'not measured': String(each.unmeasured),
    forgotten: String(each.forgotten),
    'most of one client': String(each.mostForgottenOfOne),
    'fullest window by Redis': String(each.fullestByRedis),
    'in all': String(each.fullestInAll),
    'calls to the stale master': String(each.turn.strayCalls ?? ''),
  }));
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}

function share({ answers, measured }: Share): string {
  return answers === 0 ? '' : `${((100 * measured) / answers).toFixed(0)} % of ${answers}`;
}
