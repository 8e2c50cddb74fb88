/** Tables that fit in a width: columns shrink first, then those that matter least are left out. */
import { printable } from '../../gateway/core/printable.ts';
import type { Span, Tone } from '../output/output.ts';
import { spanOf } from './spans.ts';
import { cut, padded, widthOf } from './text.ts';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  readonly align?: 'left' | 'right';
  /** It may be cut to this width. */
  readonly least?: number;
  /** Columns with a lower rank are left out first. The highest always stays. */
  readonly rank: number;
  /** Undefined for plain text. */
  readonly tone?: (row: Row) => Tone | undefined;
}

export interface FittedTable<Row> {
  readonly head: string;
  readonly line: (row: Row) => Span[];
}

const GAP = '  ';

/** `rows` are those that may be shown, so that columns keep their widths while one scrolls. */
export function fitTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): FittedTable<Row> {
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
    line: (row) =>
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
