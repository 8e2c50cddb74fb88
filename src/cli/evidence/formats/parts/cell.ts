/** The value of a variable in one line. */
export type Cell = string | number | undefined;

/** The text of a cell. Undefined if it is empty, or `-`, which logs write for an absent value. */
export function textOf(cell: Cell): string | undefined {
  if (cell === undefined || cell === '' || cell === '-') return undefined;
  return typeof cell === 'string' ? cell : String(cell);
}
