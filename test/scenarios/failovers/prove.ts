/** The long form: every kind of failover several times, slots that move, and a node that hangs. */
import { printTable } from '../../../tools/table.ts';
import { defineScenario } from '../scenario.ts';
import { type Figures, figuresOf, type Share } from './figures.ts';
import { whatIsWrong } from './judge.ts';
import { LIMITED_LIMIT, LIMITED_WINDOW_MS } from './load.ts';
import {
  type FailoverRun,
  runClusterFailovers,
  runHungNode,
  runResharding,
  runSentinelFailovers,
} from './run.ts';

const HUNG_MS = 4_000;
/** The shipped default. */
const DEFAULT_DEADLINE_MS = 50;

export const scenario = defineScenario({
  proves: 'while Redis fails over, no request fails, none waits, and few counts are lost',
  takes: '3 min',
  options: {
    failovers: { default: 5, least: 1, help: 'how many masters of each kind are killed' },
    rate: { default: 600, least: 100, help: 'requests per second' },
    // As long as a window, so that no window sees two failovers.
    'quiet-seconds': {
      default: LIMITED_WINDOW_MS / 1_000,
      least: 1,
      help: 'seconds before every fault',
    },
  },
  async prove({ failovers, rate, 'quiet-seconds': quietSeconds }) {
    const options = {
      perSecond: rate,
      deadlineMs: DEFAULT_DEADLINE_MS,
      quietMs: quietSeconds * 1_000,
      lastQuietMs: 2_500,
      counted: 150,
      limited: 60,
    };
    const killed = Array.from({ length: failovers }, () => 'killed' as const);
    console.log(
      `2 gateways, ${rate} requests per second, limits of ${LIMITED_LIMIT} per ${LIMITED_WINDOW_MS} ms\n`,
    );
    const sentinelFaults = [...killed, 'planned', 'frozen', 'cut off'] as const;
    const experiments = {
      Sentinel: () => runSentinelFailovers(sentinelFaults, options),
      Cluster: () => runClusterFailovers([...killed, 'planned'], options),
      'slots move': () => runResharding({ slots: 60, crowd: 4 }, options),
      'a node hangs': () => runHungNode(HUNG_MS, options),
    };
    const wrong: string[] = [];
    for (const [name, experiment] of Object.entries(experiments)) {
      const rules = await show(name, experiment).catch((error: Error) => [error.message]);
      wrong.push(...rules.map((rule) => `${name}: ${rule}`));
    }
    return wrong;
  },
});

/** Prints the figures of one experiment. Resolves to what is wrong with them. */
async function show(name: string, experiment: () => Promise<FailoverRun>): Promise<string[]> {
  const run = await experiment();
  const figures = figuresOf(run);
  const { answers, forgotten, noiseMs } = figures;
  const failures = Object.entries(run.failures).map(([reason, count]) => `${count} ${reason}`);
  console.log(
    `${name}: ${answers} answers, ${figures.serverErrors} of them 5xx, ${figures.unanswered} missing; ` +
      `${forgotten} admissions forgotten; slowest answer before faults ${ms(noiseMs)}; ` +
      `failed calls to Redis: ${failures.join(', ') || 'none'}; ${run.givenUp} times Redis was too slow\n`,
  );
  printTable(timesOf(figures));
  console.log();
  printTable(countsOf(figures));
  console.log();
  const wrong = whatIsWrong(figures);
  return name === 'slots move' && forgotten > 0 ? [...wrong, 'no count is lost'] : wrong;
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
