/** The tables of docs/failure-modes.md, whose cells are what the tests expect. */
import { readFileSync } from 'node:fs';

const DOCUMENT = readFileSync(new URL('../../docs/failure-modes.md', import.meta.url), 'utf8');

type Row<Columns extends readonly string[]> = Readonly<Record<Columns[number], string>>;

/** The table with exactly these columns, its cells without code marks. */
export function tableOf<const Columns extends readonly string[]>(
  ...columns: Columns
): Row<Columns>[] {
  const lines = DOCUMENT.split('\n').map(cellsOf);
  const header = lines.findIndex((cells) => String(cells) === String(columns));
  if (header === -1) throw new Error(`docs/failure-modes.md must have a table of ${columns}`);
  const rows = lines.slice(header + 2);
  // The document ends with a line feed, so every table has an end.
  const length = rows.findIndex((cells) => cells.length === 0);
  return rows.slice(0, length).map((cells) => rowOf(columns, cells));
}

function cellsOf(line: string): string[] {
  if (!line.startsWith('|')) return [];
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.replaceAll('`', '').trim());
}

function rowOf<Columns extends readonly string[]>(columns: Columns, cells: string[]): Row<Columns> {
  if (cells.length !== columns.length) throw new Error(`a row of other columns: ${cells}`);
  return Object.fromEntries(columns.map((name, i) => [name, cells[i]])) as Row<Columns>;
}
