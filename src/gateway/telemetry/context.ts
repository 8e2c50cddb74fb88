/** What every part of telemetry works with. */
import type { Log } from './log/log.ts';
import type { RepeatFilter } from './log/repeat-filter.ts';
import type { Metrics } from './metrics.ts';

export interface TelemetryContext extends RepeatFilter {
  readonly write: Log['write'];
  readonly metrics: Metrics;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
