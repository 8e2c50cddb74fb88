/** The long form: eight gateways, floods for ten seconds, outages of ten seconds, and the figures of all of it. */
import { printTable } from '../../../tools/table.ts';
import { defineScenario } from '../scenario.ts';
import { runChanges } from './changes.ts';
import { runFloods } from './floods.ts';
import type { Found } from './lab.ts';
import { runForgeries, runLosses } from './lost-streams.ts';
import { runNewcomers } from './newcomers.ts';
import { runOutages } from './outage.ts';

/** The default of HEADGATE_STORE_TIMEOUT_MS. */
const DEADLINE_MS = 50;

export const scenario = defineScenario({
  proves:
    'changes of keys in Redis take effect within a second, and floods of invented keys and outages disturb no customer',
  takes: '4 min',
  options: {
    gateways: { default: 8, least: 1, help: 'gateways that follow changes' },
    rounds: {
      default: 10,
      least: 1,
      help: 'how many customers are added, upgraded, blocked and revoked',
    },
    seconds: { default: 10, least: 1, help: 'how long each flood and each outage takes' },
  },
  async prove({ gateways, rounds, seconds }) {
    const lossyRounds = Math.ceil(rounds / 4);
    const parts: (() => Promise<Found>)[] = [
      () => runChanges({ gateways, rounds, lossyRounds, perSecond: 50 }),
      () => runNewcomers(DEADLINE_MS),
      () => runFloods({ seconds, deadlineMs: DEADLINE_MS }),
      () => runOutages({ outageMs: seconds * 1_000, deadlineMs: DEADLINE_MS, perSecond: 200 }),
      runLosses,
      runForgeries,
    ];
    const unmet: string[] = [];
    for (const run of parts) {
      const { rows, wrong, late } = await run();
      printTable(rows);
      console.log();
      unmet.push(...wrong, ...late);
    }
    return unmet;
  },
});
