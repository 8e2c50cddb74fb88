interface Position {
  readonly line: number;
  readonly column: number;
}

/** As Stryker describes it. While it runs, lines and columns begin at 0; in its report, at 1. */
export interface Mutant {
  readonly location: { readonly start: Position; readonly end: Position };
  readonly replacement: string;
  readonly mutatorName: string;
}

export interface Judged extends Mutant {
  readonly file: string;
  readonly status: string;
}

/** `first`: the number of the first line, and of the first column. */
export function keyOf(file: string, { location, replacement }: Mutant, first: 0 | 1): string {
  const { start, end } = location;
  const numbers = [start.line, start.column, end.line, end.column].map((each) => each - first);
  return `${file} ${numbers.join(' ')} ${replacement}`;
}

export function roomOf(file: string): string {
  return file.split('/').slice(1, 3).join('/');
}

export function isKilled({ status }: Judged): boolean {
  return status === 'Killed' || status === 'Timeout';
}

/** `text` with the mutant of a report in it. */
export function applied(text: string, { location: { start, end }, replacement }: Mutant): string {
  const lines = text.split('\n');
  const offset = ({ line, column }: Position) =>
    lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
  return text.slice(0, offset(start)) + replacement + text.slice(offset(end));
}
