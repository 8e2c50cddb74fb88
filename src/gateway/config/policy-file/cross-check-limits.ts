import type { CalendarUnit } from '../../core/counting/calendar.ts';
import { MAX_FIXED_LIMIT, MAX_LIMIT, MAX_WINDOW_MS } from '../../core/counting/store.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import { headersOf } from '../../core/identity/vouched.ts';
import { MCP_METHOD, MCP_NAME } from '../../core/mcp/mcp-call.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import type { Rate } from '../rate.ts';
import { afterwardsMistakes } from './cross-check-afterwards.ts';
import {
  countedHeadersOf,
  type DefaultEntry,
  type IdentitySection,
  type LimitEntry,
  limitLists,
  reserveHeadersOf,
  type Sections,
} from './valid-file.ts';

export type Mistakes = Generator<DiagnosticDraft>;

export function* limitMistakes({ identity, fallback, entries }: Sections): Mistakes {
  for (const [index, entry] of entries.entries()) {
    if (entry) yield* mistakesOfEntry(entry, ['policies', index], identity);
  }
  if (fallback) yield* mistakesOfEntry(fallback, ['default'], identity);
}

function* mistakesOfEntry(
  entry: DefaultEntry,
  at: Path,
  identity: IdentitySection | undefined,
): Mistakes {
  for (const { limits, path: listPath } of limitLists(entry, at)) {
    const known = new Set<string>();
    for (const [index, limit] of limits.entries()) {
      const path = [...listPath, index];
      const counter = counterOf(limit);
      if (known.has(counter)) yield repeatedLimit(limit, path);
      known.add(counter);
      yield* costMistakes(limit, entry.cost, path);
      yield* afterwardsMistakes({ limit, cost: entry.cost, path, identity });
      yield* windowMistakes(limit, path);
      yield* burstMistakes(limit, [...path, 'burst']);
      yield* perMistakes(limit, path, identity);
    }
  }
}

/** Limits of a policy with the same text would use the same counters. */
function counterOf({ per, rate, algorithm, unit = '', zone = 'UTC' }: LimitEntry): string {
  const window = rate.calendar === undefined ? rate.windowMs : `${rate.calendar} ${zone}`;
  return `${per} ${window} ${algorithm} ${unit}`;
}

function repeatedLimit({ per, rate, unit }: LimitEntry, path: Path): DiagnosticDraft {
  const window = rate.calendar === undefined ? rate.window : `a ${rate.window}`;
  const what = unit === undefined ? 'limit' : `limit of ${unit}`;
  const message = `repeats a ${what} per ${per} with a window of ${window}, keep the lower one`;
  return { rule: 'limit-twice', path, message };
}

function* costMistakes(limit: LimitEntry, cost: number, path: Path): Mistakes {
  const { rate, burst, reserve } = limit;
  const taken = reserve ?? cost;
  if (typeof taken !== 'number' || taken <= (burst ?? rate.limit)) return;
  const ofBucket = burst === undefined ? [] : ['burst'];
  const at = reserve === undefined ? ofBucket : ['reserve'];
  const what = reserve === undefined ? `a request costs ${cost}` : `reserves ${reserve}`;
  const most = burst === undefined ? `the limit is ${rate.limit}` : `the bucket holds ${burst}`;
  const message = `${what} and ${most}, so every request would be denied`;
  yield { rule: 'cost-above-limit', path: [...path, ...at], message };
}

function* burstMistakes({ rate, algorithm, burst }: LimitEntry, path: Path): Mistakes {
  if (burst === undefined) return;
  if (algorithm !== 'token-bucket') {
    const remedy =
      rate.calendar === undefined ? 'add "algorithm: token-bucket" or remove it' : 'remove it';
    const message = `has no effect with ${algorithm}, ${remedy}`;
    yield { rule: 'burst-without-bucket', path, message };
  }
  if (algorithm === 'token-bucket' && (burst * rate.windowMs) / rate.limit > MAX_WINDOW_MS) {
    const message = `a bucket of ${burst} takes longer than 31d to fill at this rate, make it smaller`;
    yield { rule: 'bucket-too-slow', path, message };
  }
}

function* perMistakes(
  { per }: LimitEntry,
  path: Path,
  identity: IdentitySection | undefined,
): Mistakes {
  if (per !== 'user' && per !== 'api_key') return;
  if (identity?.sources.includes(per) !== false) return;
  const message = `no client has a ${per}: add ${per} to identity.sources`;
  yield { rule: 'per-without-source', path, message };
}

/** A verified header that no limit is per is mostly misspelled in one of the two places. */
export function* verifiedHeaderMistakes({ identity, fallback, entries }: Sections): Mistakes {
  // The limits of an entry with mistakes are unknown.
  if (entries.includes(undefined) || fallback === undefined) return;
  const known = [fallback, ...entries].filter((entry) => entry !== undefined);
  const ofMcp = entries.some((entry) => entry?.match?.mcp) ? [MCP_METHOD, MCP_NAME] : [];
  const ofLimits = [...countedHeadersOf(known), ...reserveHeadersOf(known)];
  const used = [...ofLimits, ...headersOf([identity?.plan]), ...ofMcp];
  for (const [index, name] of (identity?.verified_headers ?? []).entries()) {
    if (used.includes(name)) continue;
    const path = ['identity', 'verified_headers', index];
    const message = `no limit is per header:${name}, correct the name or remove it`;
    yield { rule: 'verified-header-unused', path, message };
  }
}

function* windowMistakes(limit: LimitEntry, path: Path): Mistakes {
  const { rate, zone, algorithm, per, unit } = limit;
  const slides = algorithm !== 'fixed-window' && rate.calendar === undefined;
  if (slides && unit === undefined && rate.limit > MAX_LIMIT) {
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
