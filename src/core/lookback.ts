/** How long a quota remembers units. That decides under which names of an address it is counted. */
import { DAY_MS } from './salts.ts';
import type { Quota } from './store.ts';

/** How long a unit can matter after it was taken, in milliseconds. */
export function lookbackOf({ algorithm, limit, windowMs, burst }: Quota): number {
  if (algorithm === 'token-bucket') return Math.ceil((burst * windowMs) / limit);
  return algorithm === 'sliding-window-counter' ? 2 * windowMs : windowMs;
}

/**
 * Whether the names under which a quota counts addresses change every 31 days, not every day. At the second midnight after
 * it was taken, a counter forgets a unit that it still weighs. That unit is older than a day, so it is in no window.
 */
export function needsLongName(quota: Quota): boolean {
  const { algorithm, windowMs } = quota;
  return (algorithm === 'sliding-window-counter' ? windowMs : lookbackOf(quota)) > DAY_MS;
}
