/** The columns of both tables, and the sparklines in them. */
import { DAY_MS } from '../../gateway/core/identity/salts.ts';
import { clientText, rateText, relativeTime } from '../../gateway/operations/texts.ts';
import { endlessText } from '../ops-client/cells.ts';
import type { Size } from '../output/output.ts';
import type { DeniedClient, Policy } from './gather.ts';
import { denialRateOf, denialsOf } from './rows.ts';
import type { Column } from './table.ts';
import { clockText } from './text.ts';

const WIDE = 110;
const VERY_WIDE = 170;

export function policyColumns({ columns }: Size): Column<Policy>[] {
  const minutes = sparklineWidth(columns);
  return [
    { head: 'POLICY', cell: ({ name }) => name, least: 8, rank: 9 },
    {
      head: 'MODE',
      cell: (policy) => (isOverridden(policy) ? `${policy.mode}*` : policy.mode),
      rank: 6,
      tone: (policy) => (isOverridden(policy) ? 'warning' : undefined),
    },
    {
      head: 'REQ/S',
      cell: ({ rates }) => rateText(rates.requests),
      ...{ align: 'right', rank: 5 },
    },
    { head: '15 MIN', cell: ({ requests }) => sparkline(requests, minutes), rank: 1 },
    {
      head: 'DENIED/S',
      cell: deniedRateText,
      ...{ align: 'right', rank: 8 },
      tone: (policy) =>
        denialRateOf(policy) === 0 || policy.mode === 'shadow' ? undefined : 'warning',
    },
    { head: '15 MIN', cell: (policy) => sparkline(denialsOf(policy), minutes), rank: 2 },
  ];
}

/** `nowMs` is the time of the gateway. */
export function clientColumns({ columns }: Size, nowMs: number): Column<DeniedClient>[] {
  const time = (iso: string | undefined) => (iso === undefined ? '' : timeText(iso, nowMs));
  const withSpan = (iso: string) =>
    columns < WIDE ? time(iso) : `${time(iso)} (${relativeTime(iso, nowMs)})`;
  const reason: Column<DeniedClient> = { head: 'REASON', cell: (row) => row.reason, rank: 1 };
  return [
    { head: 'CLIENT', cell: clientText, least: 12, rank: 9 },
    { head: 'POLICY', cell: ({ policy }) => policy, least: 8, rank: 7 },
    ...(columns < WIDE ? [] : [reason]),
    {
      head: 'DENIALS',
      cell: ({ denials }) => denials.toLocaleString('en'),
      ...{ align: 'right', rank: 8 },
    },
    { head: 'SINCE', cell: ({ since }) => withSpan(since), rank: 2 },
    {
      head: 'UNTIL',
      cell: (row) => (row.until === undefined ? endlessText(row) : withSpan(row.until)),
      rank: 4,
    },
    { head: 'DECISION', cell: ({ decision_id: id }) => id, rank: 3 },
  ];
}

function sparklineWidth(columns: number): number {
  if (columns < WIDE) return 15;
  return columns < VERY_WIDE ? 30 : 60;
}

function isOverridden({ mode, mode_of_file: ofFile }: Policy): boolean {
  return mode !== ofFile;
}

/** Parentheses mean that nobody was denied, because the policy is in shadow mode. */
function deniedRateText(policy: Policy): string {
  const text = rateText(denialRateOf(policy));
  return policy.mode === 'shadow' ? `(${text})` : text;
}

/** `11:29:09`; of another day, `11-23 11:29`. */
function timeText(iso: string, nowMs: number): string {
  const ms = Date.parse(iso);
  const isToday = Math.floor(ms / DAY_MS) === Math.floor(nowMs / DAY_MS);
  return isToday ? clockText(ms) : iso.slice(5, 16).replace('T', ' ');
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** One character for each part of the time, oldest first. A space is a part in which nothing was counted. */
export function sparkline(counts: readonly number[], width: number): string {
  const edge = (part: number) => Math.round((part * counts.length) / width);
  const sums = Array.from({ length: width }, (_, i) => sum(counts.slice(edge(i), edge(i + 1))));
  const most = Math.max(...sums);
  return sums.map((each) => bar(each, most)).join('');
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function bar(count: number, most: number): string {
  return count === 0 ? ' ' : (BARS[Math.ceil((count / most) * BARS.length) - 1] ?? ' ');
}
