/** Tables of what gateways report, and the cells that several of them have. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import { relativeTime, shortTime } from '../../gateway/operations/texts.ts';
import type { Line, Toned } from '../output/output.ts';
import { type Cell, table } from '../output/table.ts';

/** `columns`: the head of each column, and its cell of a row. */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => Cell>>,
): Line[] {
  const cells = Object.values(columns);
  return table(
    Object.keys(columns),
    rows.map((row) => cells.map((cell) => cell(row))),
  );
}

const TONES: ReadonlyMap<string, Toned['tone']> = new Map([
  ['blocked', 'bad'],
  ['exempt', 'good'],
  ['enforce', 'good'],
  ['shadow', 'warning'],
  ['off', 'bad'],
]);

export function toned(text: string): Toned | string {
  const tone = TONES.get(text);
  return tone === undefined ? text : { text, tone };
}

type Denied = Pick<Output<'top'>['clients'][number], 'until' | 'limit' | 'listed'>;

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
