/** The long form: both loads for minutes, and the judge checked against limits of one less and one more. */
import { printTable } from '../../../tools/table.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { defineScenario } from '../scenario.ts';
import { type ClientRecord, judge } from './judge.ts';
import { type ExactnessRun, LIMIT, runExactness, WINDOW_MS } from './run.ts';

const GATEWAYS = 8;
const CLIENTS = 50;

export const scenario = defineScenario({
  proves: 'eight gateways on one Redis never exceed a limit, and never deny a request that fits',
  takes: '5 min',
  options: { seconds: { default: 300, least: 6, help: 'how long both loads take together' } },
  async prove({ seconds }) {
    const durationMs = (seconds * 1_000) / 2;
    await using redis = await startRedisServer();
    console.log(
      `${GATEWAYS} gateways, ${CLIENTS} clients; the limit is ${LIMIT} per ${WINDOW_MS} ms, and each sends three times as much\n`,
    );
    const runs = [];
    for (const cachesDenials of [true, false]) {
      const run = await runExactness({
        redisUrl: redis.url,
        gateways: GATEWAYS,
        cachingGateways: cachesDenials ? GATEWAYS : 0,
        clients: CLIENTS,
        durationMs,
        reloadEveryMs: Math.min(10_000, durationMs / 3),
      });
      runs.push({ name: cachesDenials ? 'cached' : 'not cached', run });
    }
    printTable(runs.map(({ name, run }) => ({ 'denials are': name, ...loadOf(run) })));
    console.log();
    printTable(runs.map(({ name, run }) => ({ 'denials are': name, ...verdictOf(run) })));
    return runs.flatMap(({ name, run }) =>
      [...run.wrong, ...whatTheJudgeMisses(run.records)].map((rule) => `${name}: ${rule}`),
    );
  },
});

function loadOf({ records, verdict, reloads, scriptCalls, scriptDecisions }: ExactnessRun) {
  const waitsMs = records
    .flatMap(({ requests }) => requests.map(({ sentMs, answeredMs }) => answeredMs - sentMs))
    .sort((a, b) => a - b);
  const waitMs = (share: number) => `${waitsMs[Math.floor(waitsMs.length * share)]} ms`;
  return {
    requests: String(verdict.requests),
    'decided by the script': String(scriptDecisions),
    EVALSHA: String(scriptCalls),
    reloads: String(reloads),
    'not measured': String(verdict.unmeasured),
    'answer, median': waitMs(0.5),
    p99: waitMs(0.99),
  };
}

function verdictOf({ verdict }: ExactnessRun) {
  return {
    admissions: String(verdict.admissions),
    denials: String(verdict.denials),
    'fullest window': String(verdict.fullestWindow),
    'windows over the limit': String(verdict.windowsOver),
    'denials that had room': String(verdict.wrongDenials),
    'not counted': String(verdict.uncounted),
    'counted twice': String(verdict.overcounted),
    'out of order': String(verdict.disordered),
  };
}

/** The judge must reject the same record for a limit of one less or one more. */
function whatTheJudgeMisses(records: readonly ClientRecord[]): string[] {
  const strict = judge(records, LIMIT - 1, WINDOW_MS);
  const generous = judge(records, LIMIT + 1, WINDOW_MS);
  const uncounted = judge(
    records.map((record) => ({ ...record, stampsMs: record.stampsMs.slice(1), unmeasured: 0 })),
    LIMIT,
    WINDOW_MS,
  );
  const missed: string[] = [];
  if (strict.windowsOver === 0) missed.push('the judge sees windows over a lower limit');
  if (generous.wrongDenials < generous.denials)
    missed.push('the judge sees room below a higher one');
  if (uncounted.uncounted === 0) missed.push('the judge sees admissions that are not counted');
  return missed;
}
