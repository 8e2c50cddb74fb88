/** Dates in a time zone. The rules of the zones are those of Intl. */

export const DAY_MS = 86_400_000;

/** Month 1 is January. Dates beyond the end of a month belong to the next one, as in Date.UTC. */
export interface PlainDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  /** Throws a RangeError if Intl does not know the name. */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** On the clocks of the zone, at a moment in milliseconds since the epoch. */
  dateAt(ms: number): PlainDate {
    const read = this.#reading(ms);
    return { year: read('year'), month: read('month'), day: read('day') };
  }

  /**
   * In milliseconds since the epoch. If clocks skip midnight, it is when they do; if they show it twice, the first
   * time.
   */
  startOf({ year, month, day }: PlainDate): number {
    const midnight = Date.UTC(year, month - 1, day);
    // No zone is more than a day away from UTC, so these two are the offsets before midnight and after it.
    const [before, after] = [midnight - DAY_MS, midnight + DAY_MS].map(
      (ms) => midnight - (this.clockAt(ms) - ms),
    ) as [number, number];
    if (this.clockAt(before) === midnight) return before;
    return this.clockAt(after) === midnight ? after : this.#jumpOver(midnight, [after, before]);
  }

  /** When clocks go forward over a time. It lies after the first of the moments, and not after the second. */
  #jumpOver(clock: number, [from, to]: readonly [number, number]): number {
    let early = from;
    let late = to;
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (this.clockAt(middle) < clock) early = middle;
      else late = middle;
    }
    return late;
  }

  /** What clocks of the zone show, as milliseconds since the epoch of clocks that show UTC. */
  clockAt(ms: number): number {
    const read = this.#reading(ms);
    const midnight = Date.UTC(read('year'), read('month') - 1, read('day'));
    const seconds = (read('hour') * 60 + read('minute')) * 60 + read('second');
    return midnight + seconds * 1_000 + (ms % 1_000);
  }

  #reading(ms: number): (type: Intl.DateTimeFormatPartTypes) => number {
    const shown = new Map(this.#format.formatToParts(ms).map(({ type, value }) => [type, value]));
    return (type) => Number(shown.get(type));
  }
}
