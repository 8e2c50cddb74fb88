/** The long form: eight gateways, a day that ends, tokens that end, failovers, and attacks. */
import { printTable } from '../../../tools/table.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { defineScenario } from '../scenario.ts';
import { runAttacks } from './attacks.ts';
import { type Fault, runFailover } from './failover.ts';
import type { FailoverRun } from './failover-judge.ts';
import { runSettle, type SettleRun } from './run.ts';

const GATEWAYS = 8;
const CLIENTS = 24;
const VERSIONS = 5;

const FORMS = {
  'a day ends': { settleWithin: '1d', beforeMidnight: true },
  'tokens end': { settleWithin: '4s', beforeMidnight: false },
} as const;

export const scenario = defineScenario({
  proves:
    'charged afterwards, every count is that of a ledger, to the unit, and attacks gain nothing',
  takes: '3 min',
  options: {
    seconds: { default: 60, least: 10, help: 'how long clients settle, in both forms together' },
    garbage: { default: 100_000, least: 1_000, help: 'tokens of a flood, over each channel' },
  },
  async prove({ seconds, garbage }) {
    const wrong: string[] = [];
    const runs: [string, SettleRun][] = [];
    for (const [name, form] of Object.entries(FORMS)) {
      await using redis = await startRedisServer();
      const phaseMs = (seconds * 1_000) / 2 / VERSIONS;
      const options = { redisUrl: redis.url, gateways: GATEWAYS, clients: CLIENTS, phaseMs };
      const run = await runSettle({ ...options, ...form });
      runs.push([name, run]);
      wrong.push(...[...run.wrong, ...run.untried].map((rule) => `${name}: ${rule}`));
    }
    console.log(
      `${GATEWAYS} gateways, ${CLIENTS} clients, policies changed ${VERSIONS - 1} times\n`,
    );
    printTable(runs.map(([name, run]) => ({ while: name, ...loadOf(run) })));
    console.log();
    printTable(runs.map(([name, run]) => ({ while: name, ...verdictOf(run) })));
    console.log();
    const failovers: [Fault, FailoverRun][] = [];
    for (const fault of ['killed', 'cut off'] as const) {
      const run = await runFailover({ fault, gateways: GATEWAYS, clients: 12, trafficMs: 3_000 });
      failovers.push([fault, run]);
      wrong.push(...run.wrong.map((rule) => `${fault}: ${rule}`));
    }
    printTable(failovers.map(([fault, run]) => ({ 'a master is': fault, ...failoverOf(run) })));
    console.log();
    await using redis = await startRedisServer();
    const attacks = await runAttacks({ redisUrl: redis.url, tokens: 10, aborted: 1_000, garbage });
    printTable(
      attacks.rows.map(({ attack, tries, outcome }) => ({ attack, tries: String(tries), outcome })),
    );
    return [...wrong, ...attacks.wrong];
  },
});

function loadOf({ requests, admitted, reports, refused }: SettleRun) {
  const { settled, repeated, gone, reset, ended, 'over ALS': logged } = reports;
  const answered = { settled, repeated, gone, reset, ended };
  const counts = { checks: requests, admitted, 'over ALS': logged, ...answered, refused };
  return Object.fromEntries(
    Object.entries(counts).map(([name, count = 0]) => [name, String(count)]),
  );
}

function verdictOf({ verdict, read, wrong }: SettleRun) {
  const { counters, takes, corrections, cut, mostBeyond, underWayThen } = verdict;
  return {
    counters: String(counters),
    'values compared': String(takes + corrections),
    'read again afterwards': String(read),
    wrong: String(wrong.length),
    'surpluses cut': String(cut),
    'furthest beyond a limit': String(mostBeyond),
    'under way then': String(underWayThen),
  };
}

function failoverOf(run: FailoverRun) {
  return {
    reservations: String(run.reservations),
    settlements: String(run.settlements),
    'lost of these': `${run.lostReservations}, ${run.lostSettlements}`,
    'counted, not answered': String(run.unseen),
    'units that counts differ by': String(run.difference),
    'by what was lost': String(run.difference - run.unexplained),
  };
}
