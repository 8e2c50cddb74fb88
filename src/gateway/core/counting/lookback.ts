/** How long quotas remember units. That decides under which names of an address they count. */
import { DAY_MS } from '../identity/salts.ts';
import type { Quota } from './store.ts';

export interface Memory {
  /** How long a unit can matter after it was taken. */
  readonly lookbackMs: number;
  /** Addresses are counted under names that change every 31 days, not every day. */
  readonly isLong: boolean;
}

export interface Lookback {
  readonly dailyMs: number;
  readonly longMs: number;
}

export const NO_LOOKBACK: Lookback = { dailyMs: 0, longMs: 0 };

export function memoryOf({ algorithm, limit, windowMs, burst }: Quota): Memory {
  if (algorithm === 'token-bucket') {
    const lookbackMs = Math.ceil((burst * windowMs) / limit);
    return { lookbackMs, isLong: lookbackMs > DAY_MS };
  }
  // At the second midnight, a counter forgets units that it still weighs. They are older than a day, so no window has them.
  const windows = algorithm === 'sliding-window-counter' ? 2 : 1;
  return { lookbackMs: windows * windowMs, isLong: windowMs > DAY_MS };
}

export function lookbackOf(memories: readonly Memory[]): Lookback {
  const longest = (isLong: boolean) =>
    Math.max(
      0,
      ...memories.filter((each) => each.isLong === isLong).map((each) => each.lookbackMs),
    );
  return { dailyMs: longest(false), longMs: longest(true) };
}
