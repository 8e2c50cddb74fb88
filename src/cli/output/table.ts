/** Tables: of plain texts, and of cells that may have tones. */
import { printable } from '../../gateway/core/printable.ts';
import type { Line, Span } from './output.ts';

/** A cell of several spans shows them one after the other. */
export type Cell = Span | readonly Span[];

export function table(head: readonly string[], written: readonly (readonly Cell[])[]): Line[] {
  const rows = [head.map((text): Cell => ({ text, tone: 'head' })), ...written];
  return alignedRows(rows);
}

/** Aligns plain cells. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  return alignedRows(rows).map(({ spans }) => spans.join('').trimEnd());
}

/** Aligns cells, and keeps their tones. Each column is as wide as its widest cell. */
export function alignedRows(written: readonly (readonly Cell[])[]) {
  const rows = written.map((row) => row.map((cell) => [cell].flat().map(escaped)));
  const widths = (rows[0] ?? []).map((_, i) =>
    Math.max(...rows.map((row) => widthOf(row[i] ?? []))),
  );
  return rows.map((row) => {
    const last = row.findLastIndex((cell) => widthOf(cell) > 0);
    const spans = row.slice(0, last + 1).flatMap((cell, i): Span[] => {
      if (i === last) return cell;
      return [...cell, ' '.repeat((widths[i] ?? 0) - widthOf(cell) + GAP)];
    });
    return { spans };
  });
}

/** Blanks between two columns. */
const GAP = 2;

function escaped(span: Span): Span {
  return typeof span === 'string' ? printable(span) : { ...span, text: printable(span.text) };
}

function widthOf(cell: readonly Span[]): number {
  return cell.reduce((sum, span) => sum + (typeof span === 'string' ? span : span.text).length, 0);
}
