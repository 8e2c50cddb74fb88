import { UNIT_MS } from '../../../gateway/config/rate.ts';
import { MAX_LIMIT, MAX_WINDOW_MS } from '../../../gateway/core/counting/store.ts';
import type { ImportedLimit, RateAmount } from './imported-limit.ts';

const UNITS = Object.entries(UNIT_MS).sort(([, a], [, b]) => b - a);

/** `5/5min`. The window must be whole seconds. */
export function rateText({ limit, windowMs }: RateAmount): string {
  const [unit, ms] = UNITS.find(([, each]) => windowMs % each === 0) ?? ['s', 1_000];
  return `${limit}/${windowMs / ms}${unit}`;
}

/** Why a policy file cannot have a window of this length with this limit; undefined if it can. */
export function windowProblem({ limit, windowMs }: RateAmount): string | undefined {
  if (!Number.isSafeInteger(limit) || limit < 1)
    return 'the limit must be a whole number of 1 or more';
  if (limit > MAX_LIMIT) return `the largest limit of headgate is ${MAX_LIMIT}`;
  if (windowMs > MAX_WINDOW_MS) return 'the longest window of headgate is 31 days';
  if (windowMs < 1_000 || windowMs % 1_000 !== 0) return 'windows of headgate are whole seconds';
  return undefined;
}

/** The shortest window of whole seconds in which this pace lets a whole number pass. Undefined if there is none. */
export function paceOf(count: number, periodMs: number): RateAmount | undefined {
  if (!(count > 0) || !(periodMs > 0)) return undefined;
  for (let factor = 1; factor <= 1_000; factor++) {
    const limit = Math.round(count * factor * 1e6) / 1e6;
    const windowMs = periodMs * factor;
    if (!Number.isInteger(limit) || windowMs % 1_000 !== 0) continue;
    const pace = { limit, windowMs };
    return windowProblem(pace) === undefined ? pace : shortened(pace);
  }
  return undefined;
}

/** Shortens the window to one second or one minute, if the numbers allow it. */
function shortened({ limit, windowMs }: RateAmount): RateAmount | undefined {
  for (const shorter of [60_000, 1_000]) {
    const pace = { limit: Math.floor((limit * shorter) / windowMs), windowMs: shorter };
    if (shorter < windowMs && windowProblem(pace) === undefined) return pace;
  }
  return undefined;
}

export function largestBurst({ limit, windowMs }: RateAmount): number {
  return Math.min(MAX_LIMIT, Math.floor((MAX_WINDOW_MS * limit) / windowMs));
}

export function multiplied({ limit, windowMs }: RateAmount, factor: number): RateAmount {
  return { limit: limit * factor, windowMs: windowMs * factor };
}

/** `per` is undefined for every client. */
export function limitText(
  { rate, burst }: Pick<ImportedLimit, 'rate' | 'burst'>,
  per: string | undefined,
): string {
  const parts = [
    ...(per === undefined ? [] : [`per: ${per.includes(':') ? JSON.stringify(per) : per}`]),
    ...(burst === undefined ? [] : ['algorithm: token-bucket', `burst: ${burst}`]),
  ];
  return parts.length === 0 ? rateText(rate) : `{ rate: ${rateText(rate)}, ${parts.join(', ')} }`;
}

export function suggestedLimit(limit: ImportedLimit): string {
  return `limits: [${limitText(limit, limit.per === 'ip' || limit.per === 'client' ? undefined : limit.per)}]`;
}
