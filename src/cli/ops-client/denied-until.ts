/** Until when a client is denied, as a cell of a table. */

import type { DenialList } from '../../gateway/operations/schemas/denials.ts';
import { relativeTime, shortTime } from '../../gateway/operations/texts.ts';
import type { Cell } from '../output/table.ts';

type Denied = Pick<DenialList['clients'][number], 'until' | 'limit' | 'listed'>;

export function deniedUntilCell(denied: Denied, nowMs: number): Cell {
  const { until } = denied;
  return until === undefined ? endlessText(denied) : untilCell(until, nowMs);
}

/** For a denial without an end: a limit may never allow the request, or the policy file blocks the client. */
export function endlessText({ limit, listed }: Denied): string {
  if (limit !== undefined) return 'never allowed';
  return listed?.applies === true ? 'by file' : '';
}

/** `2026-11-22 00:53:32, in 42 min` */
export function untilCell(iso: string, nowMs: number): Cell {
  return [shortTime(iso), { text: `, ${relativeTime(iso, nowMs)}`, tone: 'aside' }];
}
