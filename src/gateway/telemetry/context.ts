import type { Log } from './log/log.ts';
import { ONE_A_MINUTE } from './log/log-line.ts';
import type { metricsIn } from './metrics.ts';

const MINUTE_MS = 60_000;

export interface TelemetryContext extends RepeatFilter {
  /** Of a line whose table says `ONE_A_MINUTE`, no more are written. */
  readonly linesOf: Log['linesOf'];
  readonly metricsOf: ReturnType<typeof metricsIn>;
  readonly now: () => number;
}

type RepeatFilter = ReturnType<typeof createRepeatFilter>;

/** Keeps events that repeat with every request from filling the log. The kind of most is their event. */
export function createRepeatFilter(now: () => number) {
  const lastMs = new Map<string, number>();
  return {
    /** True for the first event of this kind within a minute. */
    isFirst(kind: string): boolean {
      const nowMs = now();
      if (nowMs - (lastMs.get(kind) ?? Number.NEGATIVE_INFINITY) < MINUTE_MS) return false;
      lastMs.set(kind, nowMs);
      return true;
    },
    /** The next event of this kind is a first one. */
    forget: (kind: string): void => void lastMs.delete(kind),
  };
}

export function atMostOneAMinute(
  linesOf: Log['linesOf'],
  isFirst: RepeatFilter['isFirst'],
): Log['linesOf'] {
  return (lines) => {
    const write = linesOf(lines);
    return (event, fields, message) => {
      if (lines[event]?.atMost !== ONE_A_MINUTE || isFirst(event)) write(event, fields, message);
    };
  };
}
