/** Turns the clock of a time zone into moments. */
import { ConfigError } from '../../../../gateway/config/diagnostic.ts';
import { DAY_MS, TimeZone } from '../../../../gateway/core/counting/time-zone.ts';

const QUARTER_MS = 15 * 60_000;

export class LocalTime {
  readonly #zone: TimeZone | undefined;
  /** The moment minus its clock, by the quarter of an hour on the clock: two where the clock is set back. */
  readonly #differences = new Map<number, readonly number[]>();
  #lastMs = Number.NaN;

  /** Takes an IANA name. Throws a ConfigError if it is unknown. */
  constructor(zone: string) {
    if (zone === 'UTC') return;
    try {
      this.#zone = new TimeZone(zone);
    } catch {
      throw new ConfigError([
        `--tz: "${zone}" is not a time zone; name one as in Europe/Berlin, or UTC`,
      ]);
    }
  }

  /**
   * The moment when a clock in this zone shows what a clock in UTC shows at `clockMs`. Where the clock was set back, it
   * showed the same time twice: then it is the moment nearer to the last one.
   */
  at(clockMs: number): number {
    if (this.#zone === undefined || Number.isNaN(clockMs)) return clockMs;
    const [first = 0, second] = this.#differencesAt(clockMs);
    const earlier = clockMs + first;
    const later = clockMs + (second ?? first);
    const isLater = Math.abs(later - this.#lastMs) < Math.abs(earlier - this.#lastMs);
    this.#lastMs = isLater ? later : earlier;
    return this.#lastMs;
  }

  #differencesAt(clockMs: number): readonly number[] {
    const quarter = Math.floor(clockMs / QUARTER_MS);
    const known = this.#differences.get(quarter);
    if (known !== undefined) return known;
    const startMs = quarter * QUARTER_MS;
    const around = [this.#differenceAt(startMs - DAY_MS), this.#differenceAt(startMs + DAY_MS)];
    const right = around.filter(
      (difference) => this.#differenceAt(startMs + difference) === difference,
    );
    // Where the clock is set forward, it never shows some times: they count as if it had not been set yet.
    const found = right.length === 0 ? around.slice(0, 1) : [...new Set(right)];
    this.#differences.set(quarter, found);
    return found;
  }

  #differenceAt(momentMs: number): number {
    return momentMs - (this.#zone?.clockAt(momentMs) ?? momentMs);
  }
}
