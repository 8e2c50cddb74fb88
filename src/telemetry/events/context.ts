/** What every part of telemetry works with. */
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';

export interface TelemetryContext {
  readonly write: Log['write'];
  readonly metrics: Metrics;
  /** True for the first event of this kind within a minute. */
  readonly isFirst: (kind: string) => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
