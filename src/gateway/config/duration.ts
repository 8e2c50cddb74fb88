/** Durations as people write them: `90s`, `30min`, `1h`, `7d`. */
import { DAY_MS } from '../core/identity/salts.ts';

export const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: DAY_MS,
};

/** Returns milliseconds. Throws a RangeError whose message gives the right form. */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^([1-9]\d{0,8})(s|min|h|d)$/.exec(text) ?? [];
  if (count === undefined) {
    throw new RangeError(
      `"${text}" is not a duration: write a number and s, min, h or d, as in "30min"`,
    );
  }
  return Number(count) * (UNIT_MS[unit] ?? 0);
}
