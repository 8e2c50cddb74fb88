/** Tables that fit in a width, of which the part around the chosen row is shown. */
import { printable } from '../../gateway/core/printable.ts';
import type { Line, Span, Tone } from '../output/output.ts';
import { cut, lineOf, padded, spanOf, textOf, widthOf } from './text.ts';

export interface List<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly chosen: number;
  readonly hasKeys: boolean;
  readonly empty: string;
}

const MARKER = '> ';
const NO_MARKER = '  ';

/** `height` includes the head. */
export function listLines<Row>(list: List<Row>, width: number, height: number): Line[] {
  const { rows, columns, chosen, hasKeys } = list;
  const visible = Math.max(0, height - 1);
  const table = fitTable(columns, rows, width - MARKER.length);
  const first = Math.max(0, Math.min(chosen - Math.floor(visible / 2), rows.length - visible));
  const shown = rows.slice(first, first + visible).map((row, i): Line => {
    const isChosen = hasKeys && first + i === chosen;
    const line = { spans: [isChosen ? MARKER : NO_MARKER, ...table.line(row)] };
    return isChosen ? lineOf(textOf(line), 'chosen') : line;
  });
  const count =
    rows.length > visible ? `${first + 1} to ${first + shown.length} of ${rows.length}` : '';
  const head = withRight(NO_MARKER + table.head, count, width);
  const empty = rows.length === 0 ? [lineOf(NO_MARKER + list.empty, 'aside')] : [];
  return [lineOf(head, hasKeys ? 'head' : 'aside'), ...shown, ...empty];
}

function withRight(left: string, right: string, width: number): string {
  const space = width - widthOf(left.trimEnd());
  return right.length + 1 < space ? left.trimEnd() + padded(right, space, 'right') : left;
}

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  readonly align?: 'left' | 'right';
  /** It may be cut to this width. */
  readonly least?: number;
  /** Columns with a lower rank are left out first. The highest always stays. */
  readonly rank: number;
  readonly tone?: (row: Row) => Tone | undefined;
}

const GAP = '  ';

/**
 * Columns shrink first, then those that matter least are left out. `rows` are those that may be shown, so that columns keep
 * their widths while one scrolls.
 */
function fitTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number) {
  const shown = columns.map((column) => ({ column, width: naturalWidth(column, rows) }));
  while (!shrink(shown, width) && shown.length > 1) {
    const lowest = shown.reduce((a, b) => (b.column.rank < a.column.rank ? b : a));
    shown.splice(shown.indexOf(lowest), 1);
    for (const each of shown) each.width = naturalWidth(each.column, rows);
  }
  const aligned = (text: string, { column, width }: Fitted<Row>) =>
    padded(cut(text, width), width, column.align);
  return {
    head: shown.map((each) => aligned(each.column.head, each)).join(GAP),
    line: (row: Row): Span[] =>
      shown.flatMap((each, i) => [
        ...(i === 0 ? [] : [GAP]),
        spanOf(aligned(each.column.cell(row), each), each.column.tone?.(row)),
      ]),
  };
}

interface Fitted<Row> {
  readonly column: Column<Row>;
  width: number;
}

function naturalWidth<Row>({ head, cell }: Column<Row>, rows: readonly Row[]): number {
  return Math.max(widthOf(head), ...rows.map((row) => widthOf(printable(cell(row)))));
}

/** Takes from the widest column that may be cut, until all fit. Returns whether they do. */
function shrink<Row>(columns: readonly Fitted<Row>[], width: number): boolean {
  const gaps = GAP.length * (columns.length - 1);
  let over = columns.reduce((total, each) => total + each.width, gaps) - width;
  while (over > 0) {
    const able = columns.filter((each) => each.width > (each.column.least ?? each.width));
    const [widest] = able.sort((a, b) => b.width - a.width);
    if (widest === undefined) return false;
    widest.width--;
    over--;
  }
  return true;
}
