/** What every topic of telemetry works with. */
import type { Registry } from 'prom-client';
import type { Log } from './log/log.ts';

/** Upper bounds of histograms for what takes less than a few milliseconds, in seconds. */
export const FAST_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
];

const REPEAT_AFTER_MS = 60_000;

export interface TelemetryContext extends RepeatFilter {
  readonly linesOf: Log['linesOf'];
  /** A topic registers its metrics here. */
  readonly registers: Registry[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Keeps events that repeat with every request from filling the log. */
interface RepeatFilter {
  /** True for the first event of this kind within a minute. */
  readonly isFirst: (kind: string) => boolean;
  /** The next event of this kind is a first one. */
  readonly forget: (kind: string) => void;
}

export function createRepeatFilter(now: () => number): RepeatFilter {
  const lastMs = new Map<string, number>();
  return {
    isFirst(kind) {
      const nowMs = now();
      if (nowMs - (lastMs.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MS) return false;
      lastMs.set(kind, nowMs);
      return true;
    },
    forget: (kind) => void lastMs.delete(kind),
  };
}
