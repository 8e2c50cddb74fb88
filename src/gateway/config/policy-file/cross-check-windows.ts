/** Finds limits whose algorithm cannot count their window or their number, and windows by the calendar that cannot be. */
import type { CalendarUnit } from '../../core/counting/calendar.ts';
import { MAX_FIXED_LIMIT, MAX_LIMIT } from '../../core/counting/store.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import type { LimitEntry } from './limit-schema.ts';
import type { Rate } from './rate.ts';

export function* windowMistakes(limit: LimitEntry, path: Path): Generator<DiagnosticDraft> {
  const { rate, zone, algorithm, per } = limit;
  if (algorithm !== 'fixed-window' && rate.calendar === undefined && rate.limit > MAX_LIMIT) {
    yield { rule: 'invalid-value', path, message: tooLarge(limit) };
  }
  if (zone !== undefined && rate.calendar === undefined) {
    const message = `has no effect on a window of ${rate.window}, write the rate as ${rate.limit}/${namedLike(rate)}, or remove it`;
    yield { rule: 'zone-without-calendar', path: [...path, 'zone'], message };
  }
  if (rate.calendar === undefined) return;
  if (algorithm !== 'fixed-window') {
    const message = `cannot count a ${rate.calendar} of the calendar, ${slidingRemedy(rate, rate.calendar)}`;
    yield { rule: 'calendar-not-fixed', path: [...path, 'algorithm'], message };
  }
  if (rate.calendar === 'year' && per !== 'global') {
    const message = `a limit per ${per} may count addresses, whose pseudonyms change every 31 days, so it cannot count a year: write a month, or "per: global"`;
    yield { rule: 'year-of-addresses', path, message };
  }
}

function tooLarge({ rate, algorithm }: LimitEntry): string {
  return (
    `a limit of ${rate.limit} is too large, the maximum is ${MAX_LIMIT} with ${algorithm}: ` +
    `add "algorithm: fixed-window", which counts up to ${MAX_FIXED_LIMIT}, or lower it`
  );
}

/** The window by the calendar that is about as long. */
function namedLike({ windowMs }: Rate): CalendarUnit {
  if (windowMs < 7 * DAY_MS) return 'day';
  return windowMs < 28 * DAY_MS ? 'week' : 'month';
}

const SLIDING: Readonly<Partial<Record<CalendarUnit, string>>> = {
  day: '1d',
  week: '7d',
  month: '31d',
};

/** No other algorithm has windows of a year. */
function slidingRemedy({ limit }: Rate, unit: CalendarUnit): string {
  const window = SLIDING[unit];
  return window === undefined
    ? 'remove the key'
    : `remove the key, or write the rate as ${limit}/${window}`;
}
