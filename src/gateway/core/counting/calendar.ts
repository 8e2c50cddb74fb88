/** Fixed windows: of a length, or days, weeks, months and years of the calendar in a time zone. Weeks begin on Monday. */
import { DAY_MS, type PlainDate, TimeZone } from './time-zone.ts';

export const CALENDAR_UNITS = ['day', 'week', 'month', 'year'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

/** In milliseconds since the epoch. */
export interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

export interface CalendarWindow extends Window {
  /** Ascending: the start of the previous window, the start and the end of this one, the end of the next. */
  readonly bounds: readonly [number, number, number, number];
}

/** By how much clocks were set back at most since 2000: in Antarctica/Casey, in 2010. Mostly it is an hour. */
const CLOCK_CHANGE_MS = 3 * 3_600_000;

export class Calendar {
  readonly unit: CalendarUnit;
  /** `Europe/Zurich` */
  readonly zone: string;
  readonly #zone: TimeZone;
  #latest: CalendarWindow | undefined;

  /** Throws a RangeError if there is no such zone. */
  constructor(unit: CalendarUnit, zone: string) {
    this.unit = unit;
    this.zone = zone;
    this.#zone = new TimeZone(zone);
  }

  /** The longest window in which clocks do not change. */
  get nominalMs(): number {
    return nominalMsOf(this.unit);
  }

  get longestMs(): number {
    return this.zone === 'UTC' ? this.nominalMs : this.nominalMs + CLOCK_CHANGE_MS;
  }

  /** The latest window is remembered, because Intl is slow. */
  windowAt(ms: number): CalendarWindow {
    const latest = this.#latest;
    if (latest !== undefined && latest.startMs <= ms && ms < latest.endMs) return latest;
    const { startMs, endMs } = this.#find(ms);
    const previous = this.#find(startMs - 1);
    const next = this.#find(endMs);
    const bounds = [previous.startMs, startMs, endMs, next.endMs] as const;
    this.#latest = { startMs, endMs, bounds };
    return this.#latest;
  }

  #find(ms: number): Window {
    const { firstOf, after } = UNITS[this.unit];
    let first = firstOf(this.#zone.dateAt(ms));
    let startMs = this.#zone.startOf(first);
    for (;;) {
      first = after(first);
      const endMs = this.#zone.startOf(first);
      // After midnight, clocks may go back to the day before. The window of that day has ended all the same.
      if (ms < endMs) return { startMs, endMs };
      startMs = endMs;
    }
  }
}

interface WindowLength {
  readonly windowMs: number;
  readonly calendar?: Calendar | undefined;
}

/** Without a calendar, windows start at multiples of their length since the epoch. */
export function fixedWindowAt({ windowMs, calendar }: WindowLength, nowMs: number): Window {
  if (calendar !== undefined) return calendar.windowAt(nowMs);
  const startMs = nowMs - (nowMs % windowMs);
  return { startMs, endMs: startMs + windowMs };
}

export function nominalMsOf(unit: CalendarUnit): number {
  return UNITS[unit].mostDays * DAY_MS;
}

interface Unit {
  readonly mostDays: number;
  /** The first date of the window that contains a date. */
  readonly firstOf: (date: PlainDate) => PlainDate;
  /** The first date of the window after the one that begins with a date. */
  readonly after: (first: PlainDate) => PlainDate;
}

const UNITS: Readonly<Record<CalendarUnit, Unit>> = {
  day: {
    mostDays: 1,
    firstOf: (date) => date,
    after: (first) => ({ ...first, day: first.day + 1 }),
  },
  week: {
    mostDays: 7,
    firstOf: mondayOf,
    after: (first) => ({ ...first, day: first.day + 7 }),
  },
  month: {
    mostDays: 31,
    firstOf: (date) => ({ ...date, day: 1 }),
    after: (first) => ({ ...first, month: first.month + 1 }),
  },
  year: {
    mostDays: 366,
    firstOf: ({ year }) => ({ year, month: 1, day: 1 }),
    after: (first) => ({ ...first, year: first.year + 1 }),
  },
};

/** The first of January 1970 was a Thursday. */
function mondayOf({ year, month, day }: PlainDate): PlainDate {
  const daysSinceMonday = (Date.UTC(year, month - 1, day) / DAY_MS + 3) % 7;
  return { year, month, day: day - daysSinceMonday };
}
