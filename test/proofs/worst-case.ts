/**
 * Proves what the notes on a policy file say of approximate limits: the most units that any window ever holds. Exits
 * with 1 if the search finds more, or less.
 */
import { printTable } from '../../bench/support/table.ts';
import {
  documentedWorstCase,
  SEARCHED,
  type WorstCase,
  worstFoundCase,
  worstKnownCase,
} from '../support/worst-case.ts';

const SEARCH = { seed: 1, climbs: 40, changes: 250 };

const rows = [];
const wrong: string[] = [];
for (const quota of SEARCHED) {
  const documented = documentedWorstCase(quota);
  const known = await worstKnownCase(quota);
  const found = await worstFoundCase(quota, SEARCH);
  const worst = known.units > found.units ? known : found;
  const name = `${quota.algorithm} ${quota.limit}/1min, burst ${quota.burst}`;
  if (worst.units !== documented) wrong.push(`${name}: ${text(worst)}, documented ${documented}`);
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
console.log();
for (const each of wrong) console.log(`NOT SO, ${each}`);
if (wrong.length === 0) console.log('never more than documented, and never less');
process.exitCode = wrong.length === 0 ? 0 : 1;

function text({ units, schedule }: WorstCase): string {
  return `${units} units by ${JSON.stringify(schedule)}`;
}
