/** The long form: a wider search for the schedule that gets the most units into one window. */
import { printTable } from '../../../tools/table.ts';
import { defineScenario } from '../scenario.ts';
import {
  documentedWorstCase,
  SEARCHED,
  type WorstCase,
  worstFoundCase,
  worstKnownCase,
} from './run.ts';

const SEARCH = { seed: 1, climbs: 40, changes: 250 };

export const scenario = defineScenario({
  proves: 'no schedule of requests gets more through an algorithm than its documented worst case',
  takes: '10 s',
  options: {},
  async prove() {
    const wrong: string[] = [];
    const rows = [];
    for (const quota of SEARCHED) {
      const documented = documentedWorstCase(quota);
      const known = await worstKnownCase(quota);
      const found = await worstFoundCase(quota, SEARCH);
      const worst = known.units > found.units ? known : found;
      const name = `${quota.algorithm} ${quota.limit}/1min, burst ${quota.burst}`;
      if (worst.units !== documented) {
        wrong.push(`${name}: ${text(worst)}, documented ${documented}`);
      }
      rows.push({
        algorithm: quota.algorithm,
        'limit per minute': String(quota.limit),
        burst: quota.algorithm === 'token-bucket' ? String(quota.burst) : '',
        'known schedules': String(known.units),
        'random search': String(found.units),
        documented: String(documented),
      });
    }
    printTable(rows);
    return wrong;
  },
});

function text({ units, schedule }: WorstCase): string {
  return `${units} units by ${JSON.stringify(schedule)}`;
}
