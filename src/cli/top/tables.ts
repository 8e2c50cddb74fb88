/** The columns of both tables. */

import { DAY_MS } from '../../gateway/core/identity/salts.ts';
import { clientText, rateText, relativeTime } from '../../gateway/operations/texts.ts';
import { endlessText } from '../ops-client/cells.ts';
import type { Size } from '../output/output.ts';
import type { DeniedClient } from './gather.ts';
import { denialsOf, type PolicyRow } from './rows.ts';
import { sparkline } from './sparkline.ts';
import type { Column } from './table.ts';
import { clockText } from './text.ts';

/** Columns of the terminal from which there is room for more. */
const WIDE = 110;
const VERY_WIDE = 170;

export function policyColumns({ columns }: Size): Column<PolicyRow>[] {
  const minutes = sparklineWidth(columns);
  return [
    { head: 'POLICY', cell: ({ policy }) => policy.name, least: 8, rank: 9 },
    {
      head: 'MODE',
      cell: ({ policy }) => (isOverridden(policy) ? `${policy.mode}*` : policy.mode),
      rank: 6,
      tone: ({ policy }) => (isOverridden(policy) ? 'warning' : undefined),
    },
    {
      head: 'REQ/S',
      cell: ({ requestRate }) => rateText(requestRate),
      ...{ align: 'right', rank: 5 },
    },
    { head: '15 MIN', cell: ({ policy }) => sparkline(policy.requests, minutes), rank: 1 },
    {
      head: 'DENIED/S',
      cell: deniedRateText,
      ...{ align: 'right', rank: 8 },
      tone: ({ policy, denialRate }) =>
        denialRate === 0 || policy.mode === 'shadow' ? undefined : 'warning',
    },
    { head: '15 MIN', cell: ({ policy }) => sparkline(denialsOf(policy), minutes), rank: 2 },
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

function isOverridden({ mode, mode_of_file: ofFile }: PolicyRow['policy']): boolean {
  return mode !== ofFile;
}

/** In parentheses if nobody was denied, because the policy is in shadow mode. */
function deniedRateText({ policy, denialRate }: PolicyRow): string {
  const text = rateText(denialRate);
  return policy.mode === 'shadow' ? `(${text})` : text;
}

/** `11:29:09`; of another day, `11-23 11:29`. */
function timeText(iso: string, nowMs: number): string {
  const ms = Date.parse(iso);
  const isToday = Math.floor(ms / DAY_MS) === Math.floor(nowMs / DAY_MS);
  return isToday ? clockText(ms) : iso.slice(5, 16).replace('T', ' ');
}
