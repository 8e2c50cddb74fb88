/** Reports on the spans that go to a collector. */
import type { TelemetryContext } from '../context.ts';

export interface TracingEvents {
  /** A collector is set, but no spans are recorded. */
  off(remedy: string): void;
  /** Spans were not exported. */
  spansLost(cause: string): void;
}

const LONGEST_CAUSE = 80;

export function createTracingEvents({ write, isFirst }: TelemetryContext): TracingEvents {
  return {
    off: (remedy) => write('tracing_off', { remedy }),
    spansLost(cause) {
      if (isFirst('spans')) write('spans_lost', { cause: cause.slice(0, LONGEST_CAUSE) });
    },
  };
}
