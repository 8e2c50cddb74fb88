/** What every part of telemetry works with. */
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { RepeatFilter } from '../repeat-filter.ts';

export interface TelemetryContext extends RepeatFilter {
  readonly write: Log['write'];
  readonly metrics: Metrics;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
