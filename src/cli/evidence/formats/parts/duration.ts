/** How long a request took, as logs write it. */
import type { Cell } from './cell.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  ns: 1e-6,
};
const PART = /(\d+(?:\.\d+)?)(h|ms|m|s|us|ns|\xb5s|\xc2\xb5s)/g;

/** Milliseconds: of a number of seconds, or of a text such as `0.012` or `1m1.5s`. NaN if it is neither. */
export function durationMs(cell: Cell): number {
  if (typeof cell === 'number') return cell * 1000;
  if (cell === undefined || cell === '') return Number.NaN;
  const seconds = Number(cell);
  if (!Number.isNaN(seconds)) return seconds * 1000;
  let ms = Number.NaN;
  for (const [, amount, unit = ''] of cell.matchAll(PART)) {
    ms = (Number.isNaN(ms) ? 0 : ms) + Number(amount) * (UNIT_MS[unit] ?? 1e-3);
  }
  return ms;
}
