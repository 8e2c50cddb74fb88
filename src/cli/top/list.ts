/** A table with its head, of which the part around the chosen row is shown. */
import type { Line } from '../output/output.ts';
import { lineOf, textOf } from './spans.ts';
import { type Column, fitTable } from './table.ts';
import { padded, widthOf } from './text.ts';

export interface List<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Index into the rows. */
  readonly chosen: number;
  /** Whether the keys are for this list. */
  readonly hasKeys: boolean;
  /** Shown if there is no row. */
  readonly empty: string;
}

const MARKER = '> ';
const NO_MARKER = '  ';

/** `height` includes the head. */
export function listLines<Row>(list: List<Row>, width: number, height: number): Line[] {
  const { rows, columns, chosen, hasKeys } = list;
  const room = Math.max(0, height - 1);
  const table = fitTable(columns, rows, width - MARKER.length);
  const first = Math.max(0, Math.min(chosen - Math.floor(room / 2), rows.length - room));
  const shown = rows.slice(first, first + room).map((row, i): Line => {
    const isChosen = hasKeys && first + i === chosen;
    const line = { spans: [isChosen ? MARKER : NO_MARKER, ...table.line(row)] };
    return isChosen ? lineOf(textOf(line), 'chosen') : line;
  });
  const count =
    rows.length > room ? `${first + 1} to ${first + shown.length} of ${rows.length}` : '';
  const head = withRight(NO_MARKER + table.head, count, width);
  const empty = rows.length === 0 ? [lineOf(NO_MARKER + list.empty, 'aside')] : [];
  return [lineOf(head, hasKeys ? 'head' : 'aside'), ...shown, ...empty];
}

/** Without the text at the right, if there is no room for it. */
function withRight(left: string, right: string, width: number): string {
  const space = width - widthOf(left.trimEnd());
  return right.length + 1 < space ? left.trimEnd() + padded(right, space, 'right') : left;
}
