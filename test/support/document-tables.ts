/** Tables of documents in docs/, whose cells are what the tests expect. */
import { readFileSync, writeFileSync } from 'node:fs';

export type Row<Columns extends readonly string[]> = Readonly<Record<Columns[number], string>>;

/** The table of a document of docs/ that has exactly these columns, its cells without code marks. */
export function tableOf<const Columns extends readonly string[]>(
  document: string,
  columns: Columns,
): Row<Columns>[] {
  const text = readFileSync(new URL(`../../docs/${document}`, import.meta.url), 'utf8');
  const lines = text.split('\n').map(cellsOf);
  const header = lines.findIndex((cells) => String(cells) === String(columns));
  if (header === -1) throw new Error(`docs/${document} must have a table of ${columns}`);
  const rows = lines.slice(header + 2);
  // The document ends with a line feed, so every table has an end.
  const length = rows.findIndex((cells) => cells.length === 0);
  return rows.slice(0, length).map((cells) => rowOf(columns, cells));
}

/** Replaces the rows of the table that has exactly these columns. */
export function writeTable<const Columns extends readonly string[]>(
  document: string,
  columns: Columns,
  rows: readonly Row<Columns>[],
): void {
  const file = new URL(`../../docs/${document}`, import.meta.url);
  const text = readFileSync(file, 'utf8');
  const lines = rows.map(
    (row) => `| ${columns.map((column: Columns[number]) => row[column]).join(' | ')} |`,
  );
  const head = `| ${columns.join(' | ')} |\n${'| --- '.repeat(columns.length)}|\n`;
  const start = text.indexOf(head) + head.length;
  const end = text.indexOf('\n\n', start - 1);
  writeFileSync(file, `${text.slice(0, start)}${lines.join('\n')}${text.slice(end)}`);
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
