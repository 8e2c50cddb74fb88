/** Rates as people write them: `5/5min`, `100/1min`, `1000/1h`. */
import { MAX_LIMIT, MAX_WINDOW_MS } from '../../core/store.ts';
import { UNIT_MS } from '../duration.ts';

export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
  /** As written: `5min`. */
  readonly window: string;
}

export const RATE_PATTERN = /^([1-9]\d*)\/([1-9]\d*)(s|min|h|d)$/;

/** Throws a RangeError whose message says what is wrong and gives the right form. */
export function parseRate(text: string): Rate {
  const [, limitText, countText, unit] = RATE_PATTERN.exec(text) ?? [];
  if (limitText === undefined || countText === undefined || unit === undefined) {
    throw new RangeError(`"${text}" is not a rate${hintFor(text)}`);
  }
  const limit = Number(limitText);
  const windowMs = Number(countText) * (UNIT_MS[unit] ?? 0);
  if (limit > MAX_LIMIT) {
    throw new RangeError(`a limit of ${limitText} is too large, the maximum is ${MAX_LIMIT}`);
  }
  if (windowMs > MAX_WINDOW_MS) {
    throw new RangeError(`a window of ${countText}${unit} is too long, the maximum is 31d`);
  }
  return { limit, windowMs, window: countText + unit };
}

const SPELLINGS: Readonly<Record<string, string>> = {
  sec: 's',
  secs: 's',
  second: 's',
  seconds: 's',
  m: 'min',
  mins: 'min',
  minute: 'min',
  minutes: 'min',
  hr: 'h',
  hour: 'h',
  hours: 'h',
  day: 'd',
  days: 'd',
};

/** The rate that the author probably meant; if unknown, the right form. */
function hintFor(text: string): string {
  const loose = /^\s*(\d+)\s*(?:\/|per)\s*(\d*)\s*([a-z]+)\s*$/i.exec(text);
  const unit = loose?.[3]?.toLowerCase();
  const known =
    unit === undefined ? undefined : (SPELLINGS[unit] ?? (unit in UNIT_MS ? unit : undefined));
  const guess = `${Number(loose?.[1])}/${Number(loose?.[2] || 1)}${known}`;
  return known !== undefined && RATE_PATTERN.test(guess)
    ? `, write "${guess}"`
    : ', write requests/window with the unit s, min, h or d, as in "5/5min"';
}
