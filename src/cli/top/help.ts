/** The keys and what the tables mean. */
import { columns } from '../output/table.ts';

/** `rateMs`: the length of the time of which rates are the mean. */
export function helpLines(rateMs = 10_000): string[] {
  return columns([
    ['up down j k', 'choose a row (also page up and down, home, end)'],
    ['Tab', 'go to the other table'],
    ['Enter', 'why: the denial and limits of a client, or the limits of a policy'],
    ['s', 'sort in another way'],
    ['/', 'filter the table; for clients, the gateways search all denied clients'],
    ['r', 'reset the counters of the client'],
    ['b, e', 'block the client, or exempt it from all limits, temporarily'],
    ['l', 'lift the block or exemption of the client, or the mode of a policy'],
    ['m', 'change the mode of the policy temporarily'],
    ['Space', 'update now'],
    ['Esc', 'go back from a detail, or show all rows again (also Backspace)'],
    ['q', 'quit, from a detail too'],
    ['', ''],
    ['REQ/S', `mean of the last ${rateMs / 1_000} seconds; 15 MIN draws the time before`],
    ['DENIED/S', 'in parentheses: a shadow policy would have denied them'],
    ['MODE *', 'changed temporarily by an operator'],
    ['CLIENT', 'those that were denied in the last five minutes'],
  ]);
}

const HINTS = [
  'Tab table  Enter why  r reset  b block  e exempt  l lift  m mode  s sort  / filter  ? help  q quit',
  'Tab table  Enter why  r reset  b block  e exempt  l lift  m mode  ? help  q quit',
  'Enter why  r reset  b block  ? help  q quit',
];
const SHORTEST_HINT = '? help  q quit';

export function hints(width: number): string {
  return HINTS.find((each) => each.length <= width) ?? SHORTEST_HINT;
}
