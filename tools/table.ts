/** Figures of several rounds, as Markdown that reads well in a terminal and in bench/README.md. */

export type Row = Readonly<Record<string, string>>;

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The median, and the least and the most beside it, unless there is only one value. */
export function spread(values: readonly number[], digits = 1): string {
  if (values.length === 1) return median(values).toFixed(digits);
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)];
  return `${middle.toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
}

/** All rows have the columns of the first. */
export function printTable(rows: readonly Row[]): void {
  const names = Object.keys(rows[0] ?? {});
  const widths = names.map((name) =>
    Math.max(4, ...[name, ...rows.map((row) => row[name] ?? '')].map((text) => text.length)),
  );
  const line = (cells: readonly string[]) =>
    console.log(`| ${cells.map((cell, i) => pad(cell, widths[i] ?? 0, i)).join(' | ')} |`);
  line(names);
  line(widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)));
  for (const row of rows) line(names.map((name) => row[name] ?? ''));
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}
