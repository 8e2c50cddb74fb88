/** The long form: Redis killed many times, frozen for up to half a minute, and cut off from four gateways. */

import { percentile } from '../../../tools/load/open-loop.ts';
import { median, printTable, type Row, spread } from '../../../tools/table.ts';
import { defineScenario } from '../scenario.ts';
import { type FreezesRun, runFreezes } from './freezes.ts';
import { type KillsRun, ofPolicy, runKills } from './kills.ts';
import { FAILURE_MODES, latestOf, MODE_OF, p99Of, type Sample } from './lab.ts';
import {
  type Account,
  GROUPS,
  type GroupName,
  LIMITS,
  type PartitionRun,
  type Phase,
  runPartition,
  sum,
  totalOf,
  untilMended,
} from './partition.ts';

/** The shipped default. */
const DEADLINE_MS = 50;
const PER_SECOND = 1_500;
const WARM_UP_MS = 2_000;
const CLIENTS = 50;
const OUTAGE_MS = 1_000;
const NORMAL_MS = 1_000;
const NORMAL_BETWEEN_FREEZES_MS = 5_000;
const P99_MORE_MS = 10;
const BACK_WITHIN_MS = 500;
const LATE_MS = 10;
/**
 * At this rate a gateway that keeps 1 KiB of each request is 44 MiB larger after half a minute. A heap without a leak
 * grows and shrinks by a good part of what new objects may take, which is 3 x 16 MiB.
 */
const MOST_GROWTH_MIB = 32;
const PARTITION_PER_SECOND = 400;

export const scenario = defineScenario({
  proves: 'while Redis is killed, frozen or cut off, no request fails and no limit opens too far',
  takes: '3 min',
  options: {
    kills: { default: 20, least: 1, help: 'how often Redis is killed' },
    'longest-freeze-ms': { default: 30_000, least: 1, help: 'after freezes of 300 and 5000 ms' },
    clients: { default: 12, least: 1, help: 'clients of each kind and limit, at four gateways' },
  },
  async prove({ kills, 'longest-freeze-ms': longestMs, clients }) {
    return [
      ...(await proveKills(kills)),
      ...(await proveFreezes([300, 5_000, longestMs])),
      ...(await provePartition(clients)),
    ];
  },
});

async function proveKills(kills: number): Promise<string[]> {
  const run = await runKills({
    deadlineMs: DEADLINE_MS,
    warmUpMs: WARM_UP_MS,
    kills,
    clients: CLIENTS,
    outageMs: OUTAGE_MS,
    normalMs: NORMAL_MS,
    perSecond: PER_SECOND,
    p99MoreMs: P99_MORE_MS,
    backWithinMs: BACK_WITHIN_MS,
  });
  console.log(`Redis is killed ${kills} times, at ${PER_SECOND} requests/s:\n`);
  printTable(FAILURE_MODES.map((mode) => ({ on_store_failure: mode, ...answersOf(run, mode) })));
  console.log();
  printTable([returnOf(run)]);
  console.log();
  return run.wrong.map((rule) => `killed: ${rule}`);
}

function answersOf(run: KillsRun, mode: (typeof FAILURE_MODES)[number]): Row {
  const during = ofPolicy(run.during, mode);
  const normal = ofPolicy(run.normal, mode);
  return {
    'answers during outages': String(during.length),
    [`of these in mode ${Object.values(MODE_OF).join('/')}`]: String(unmeasured(during)),
    ...faultsOf([...during, ...normal]),
    'p99, normal': ms(p99Of(normal)),
    'p99, outage': ms(p99Of(during)),
    latest: ms(latestOf(during)),
  };
}

function returnOf({ outages, backAfterMs, normal, twinDuring, greedy }: KillsRun): Row {
  const outageMs = outages.map(({ killedMs, backMs }) => backMs - killedMs);
  return {
    outages: String(outages.length),
    'seconds without Redis': spread(outageMs.map((each) => each / 1_000)),
    'back, median': ms(median(backAfterMs)),
    'back, worst': ms(Math.max(...backAfterMs)),
    'normal answers': String(normal.length),
    'of these not measured': String(unmeasured(normal)),
    'p99 without Redis, outage': ms(p99Of(twinDuring)),
    'greedy client, denied': `${greedy.filter(({ status }) => status === 429).length} of ${greedy.length}`,
  };
}

async function proveFreezes(freezesMs: readonly number[]): Promise<string[]> {
  const run = await runFreezes({
    deadlineMs: DEADLINE_MS,
    warmUpMs: WARM_UP_MS,
    freezesMs,
    normalMs: NORMAL_BETWEEN_FREEZES_MS,
    perSecond: PER_SECOND,
    lateMs: LATE_MS,
    mostGrowthMib: MOST_GROWTH_MIB,
  });
  const { counts, noiseMs } = run;
  console.log(
    `Redis is frozen, at ${PER_SECOND} requests/s. Without it the slowest answer takes ${ms(noiseMs)}: the noise.\n` +
      `The latest may take ${DEADLINE_MS + LATE_MS} ms and the noise; memory may grow by ${MOST_GROWTH_MIB} MiB.\n`,
  );
  printTable(freezeRows(run));
  console.log();
  printTable([
    {
      'in Redis': 'all clients',
      sent: String(counts.sent),
      counted: String(counts.counted),
      'admitted by Redis': String(counts.admitted),
      'wrong counts': String(counts.wrong),
    },
  ]);
  console.log();
  return run.wrong.map((rule) => `frozen: ${rule}`);
}

function freezeRows({ freezes, during }: FreezesRun): Row[] {
  return freezes.map(({ durationMs, thawedMs, backMs, ...memory }, i) => {
    const answers = during[i] ?? [];
    const latest = latestOf(answers);
    return {
      'frozen for': `${durationMs} ms`,
      answers: String(answers.length),
      ...faultsOf(answers),
      median: ms(
        percentile(
          answers.map(({ tookMs }) => tookMs),
          0.5,
        ),
      ),
      p99: ms(p99Of(answers)),
      latest: ms(latest),
      [`later than ${DEADLINE_MS + LATE_MS} ms`]: String(
        answers.filter(({ tookMs }) => tookMs > DEADLINE_MS + LATE_MS).length,
      ),
      'back after': ms(backMs - thawedMs),
      'RSS before': mib(memory.rssBefore),
      most: mib(memory.rssMost),
      after: mib(memory.rssAfter),
    };
  });
}

async function provePartition(clientsPerGroup: number): Promise<string[]> {
  const run = await runPartition({
    clientsPerGroup,
    perSecond: PARTITION_PER_SECOND,
    hasEvenLoad: true,
  });
  console.log(
    `Four gateways, ${clientsPerGroup} clients of each kind: admitted of one client, least to most, of ${run.requests} requests.\n`,
  );
  printTable(
    (Object.keys(GROUPS) as GroupName[]).flatMap((group) =>
      LIMITS.map((limit) => partitionRow(run, group, limit)),
    ),
  );
  console.log();
  return run.wrong.map((rule) => `cut: ${rule}`);
}

function partitionRow({ accounts }: PartitionRun, group: GroupName, limit: number): Row {
  const own = accounts.filter((account) => account.group === group && account.limit === limit);
  const range = (count: (account: Account) => number) => {
    const counts = own.map(count);
    const [least, most] = [Math.min(...counts), Math.max(...counts)];
    return least === most ? String(least) : `${least} to ${most}`;
  };
  const inPhase = (phase: Phase) => range(({ admitted }) => sum(admitted[phase]));
  return {
    'a client comes': GROUPS[group],
    limit: String(limit),
    before: inPhase('before'),
    cut: inPhase('cut'),
    'both, times the limit': (Math.max(...own.map(untilMended)) / limit).toFixed(2),
    after: inPhase('after'),
    'one cut': inPhase('one cut'),
    'all, times the limit': (Math.max(...own.map(totalOf)) / limit).toFixed(2),
  };
}

function faultsOf(samples: readonly Sample[]): Row {
  return {
    '5xx': String(samples.filter(({ status }) => status >= 500).length),
    unanswered: String(samples.filter(({ status }) => status === 0).length),
  };
}

function unmeasured(samples: readonly Sample[]): number {
  return samples.filter(({ mode }) => mode !== undefined).length;
}

function ms(figure: number): string {
  return `${figure.toFixed(1)} ms`;
}

function mib(figure: number): string {
  return `${figure.toFixed(0)} MiB`;
}
