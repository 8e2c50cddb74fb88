/** Rates and durations as people write them: `5/5min`, `1000/1h`, by the calendar `10000/month`; `90s`, `7d`. */
import { CALENDAR_UNITS, type CalendarUnit, nominalMsOf } from '../core/counting/calendar.ts';
import { MAX_FIXED_LIMIT, MAX_LIMIT, MAX_WINDOW_MS } from '../core/counting/store.ts';
import { DAY_MS } from '../core/identity/salts.ts';

export interface Rate {
  readonly limit: number;
  /** A window by the calendar counts as the longest one in which clocks do not change. */
  readonly windowMs: number;
  /** As written: `5min`, `month`. */
  readonly window: string;
  readonly calendar?: CalendarUnit;
}

export const RATE_PATTERN = /^([1-9]\d*)\/(?:([1-9]\d*)(s|min|h|d)|(day|week|month|year))$/;

/** Throws a RangeError whose message says what is wrong and gives the right form. `most` is the largest limit. */
export function parseRate(text: string, most = MAX_FIXED_LIMIT): Rate {
  const [, limitText, countText, unit, name] = RATE_PATTERN.exec(text) ?? [];
  const limit = Number(limitText);
  const calendar = CALENDAR_UNITS.find((each) => each === name);
  if (limit > most) throw new RangeError(tooLarge(limitText, most));
  if (calendar !== undefined) {
    return { limit, windowMs: nominalMsOf(calendar), window: calendar, calendar };
  }
  if (countText === undefined || unit === undefined) {
    throw new RangeError(`"${text}" is not a rate${hintFor(text)}`);
  }
  const windowMs = Number(countText) * (UNIT_MS[unit] ?? 0);
  if (windowMs > MAX_WINDOW_MS) {
    const most = `the maximum is 31d. By the calendar, write "${limitText}/month" or "${limitText}/year"`;
    throw new RangeError(`a window of ${countText}${unit} is too long, ${most}`);
  }
  return { limit, windowMs, window: countText + unit };
}

export function tooLarge(limit: number | string | undefined, most = MAX_FIXED_LIMIT): string {
  const unit = most > MAX_FIXED_LIMIT ? `, with a unit ${most}` : '';
  return `a limit of ${limit} is too large, the maximum is ${MAX_LIMIT}, with fixed-window ${MAX_FIXED_LIMIT}${unit}`;
}

/** Reads a rate whose window slides. Throws a RangeError. */
export function parseSlidingRate(text: string): Rate {
  const rate = parseRate(text);
  if (rate.limit > MAX_LIMIT) {
    throw new RangeError(`a limit of ${rate.limit} is too large, the maximum is ${MAX_LIMIT}`);
  }
  if (rate.calendar === undefined) return rate;
  throw new RangeError(
    `a window of a ${rate.window} has no fixed length, write it in s, min, h or d`,
  );
}

const SPELLINGS = {
  s: /^(?:s|secs?|seconds?)$/,
  min: /^(?:m|mins?|minutes?)$/,
  h: /^(?:h|hr|hours?)$/,
  d: /^(?:d|days?)$/,
};

const CALENDAR_SPELLINGS = {
  day: /^daily$/,
  week: /^w(?:eek(?:s|ly)?)?$/,
  month: /^mo(?:nth(?:s|ly)?)?$/,
  year: /^(?:y|yr|year(?:s|ly)?)$/,
};

function spelled(forms: Readonly<Record<string, RegExp>>, word: string): string | undefined {
  return Object.entries(forms).find(([, form]) => form.test(word))?.[0];
}

/** `10 req/s`, `10rps`, `1_000/1h`, `1e3/1h`, `1k/1h` */
const AMOUNT = /^\s*(\d[\d_,']*(?:e\d{1,2}|k)?)\s*(?:req(?:uest)?s?|r(?=\/|ps))?(.*)$/is;

function wholeNumber(amount: string): string {
  const digits = amount.replace(/[_,']/g, '').replace(/k$/i, 'e3');
  return digits === '' ? '' : String(Number(digits));
}

function hintFor(text: string): string {
  if (/^\s*[-+]?0+\s*(?:\/|per)/i.test(text)) {
    return ', the smallest limit is 1: to refuse all of these requests, do so in the proxy; to set no limit, write "mode: off" in the policy';
  }
  if (/^\s*-/.test(text)) return ', a limit is a whole number of 1 or more';
  if (/[$]|\{\{/.test(text)) return ', write the number itself: headgate puts in no variables';
  const [, amount = '', rest = ''] = AMOUNT.exec(text) ?? [];
  const whole = `${wholeNumber(amount)}${rest.replace(/^\s*ps$/i, '/s')}`;
  const unitless = /^(\d+)\/([1-9]\d*)$/.exec(whole);
  if (unitless !== null) return `, the window has no unit: write "${whole}s" if you mean seconds`;
  const loose = /^(\d+)\s*(?:\/|per)\s*(\d*)\s*([a-z]+)\s*$/i.exec(whole);
  const unit = loose?.[3]?.toLowerCase() ?? '';
  const count = Number(loose?.[2] || 1);
  const known = spelled(SPELLINGS, unit);
  const named = count === 1 ? spelled(CALENDAR_SPELLINGS, unit) : undefined;
  const window = named ?? (known && `${count}${known}`);
  const guess = `${Number(loose?.[1])}/${window}`;
  if (window !== undefined && RATE_PATTERN.test(guess)) return `, write "${guess}"`;
  return ', write requests/window with the unit s, min, h or d, or with day, week, month or year, as in "5/5min" or "10000/month"';
}

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
