/** Durations in test files. Unlike those of a policy file, they may be zero, have milliseconds and combine units. */
import { DAY_MS } from '../../gateway/core/identity/salts.ts';

export const DURATION_PATTERN =
  /^(?=\d)(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})min)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

/** In the order of the pattern. */
const UNITS = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

export const MAX_DURATION_MS = 3_650 * DAY_MS;

/** Returns milliseconds. Throws a RangeError whose message gives the right form. */
export function parseDuration(text: string): number {
  const [, ...counts] = DURATION_PATTERN.exec(text) ?? [];
  if (counts.length === 0) {
    throw new RangeError(
      `"${text}" is not a duration: write numbers with d, h, min, s or ms, as in "90s" or "1h30min"`,
    );
  }
  const ms = UNITS.reduce((sum, [, unitMs], i) => sum + Number(counts[i] ?? 0) * unitMs, 0);
  if (ms > MAX_DURATION_MS) {
    throw new RangeError(`must be at most ${durationText(MAX_DURATION_MS)}`);
  }
  return ms;
}

/** `1h30min`; `0s` for none. */
export function durationText(ms: number): string {
  let left = ms;
  let text = '';
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(left / unitMs);
    left -= count * unitMs;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === '' ? '0s' : text;
}
