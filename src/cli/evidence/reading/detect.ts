/** Finds the format of a log by its first lines. */
import { type LogFormat, Misread, type ParseOptions } from '../formats/log-format.ts';
import { Unwrapper } from './unwrapper.ts';

/** So many lines are tried. */
export const TRIED_LINES = 100;

/** How well a format fits the lines. */
export interface Trial {
  readonly format: LogFormat;
  readonly lines: number;
  /** Lines that are entries. */
  readonly entries: number;
  /** Lines that are understood, with or without a request. */
  readonly understood: number;
  /** Lines that only this program writes. */
  readonly proofs: number;
  /** The first line that is not understood, from 1, and its field. */
  readonly misread:
    | { readonly line: number; readonly field: string; readonly reach: number }
    | undefined;
}

const WITHOUT_OPTIONS: ParseOptions = { zone: 'UTC', timeIs: undefined, fields: [] };

/** The first lines of a chunk, unwrapped and without blank ones. */
export function firstLines(bytes: Buffer): string[] {
  const unwrapper = new Unwrapper();
  const lines: string[] = [];
  for (const written of bytes.toString('latin1').split('\n')) {
    if (lines.length === TRIED_LINES) break;
    const line = unwrapper.unwrap(written.replace(/\r$/, ''));
    if (line !== undefined && line.trim() !== '') lines.push(line);
  }
  return lines;
}

export function tried(format: LogFormat, lines: readonly string[]): Trial {
  const parse = format.compile(WITHOUT_OPTIONS);
  let [entries, understood, proofs] = [0, 0, 0];
  let misread: Trial['misread'];
  lines.forEach((line, i) => {
    const made = parse(line);
    if (made instanceof Misread) {
      misread ??= { line: i + 1, field: made.field, reach: made.reach };
      return;
    }
    understood++;
    if (made !== undefined) entries++;
    if (format.isProof?.(line)) proofs++;
  });
  return { format, lines: lines.length, entries, understood, proofs, misread };
}

/** The format that reads most requests, then most lines; or undefined if none reads any. Of equal ones, the one with more proofs, then the first. */
export function bestOf(trials: readonly Trial[]): Trial | undefined {
  const [best] = trials
    .filter(({ understood }) => understood > 0)
    .toSorted(
      (a, b) => b.entries - a.entries || b.understood - a.understood || b.proofs - a.proofs,
    );
  return best;
}

/** The formats that came furthest, for a log that none fits: `nginx-combined: line 1 fails at time_local`. */
export function nearest(trials: readonly Trial[]): string[] {
  return trials
    .toSorted((a, b) => (b.misread?.reach ?? 0) - (a.misread?.reach ?? 0))
    .slice(0, 3)
    .map(({ format, misread }) => `${format.name} fails at ${misread?.field}`);
}
