import type { TelemetryContext } from '../context.ts';
import { type LogLines, ONE_A_MINUTE } from '../log/log-line.ts';

export const TRACING_LINES = {
  tracing_off: {
    level: 'warn',
    message: 'a collector is set, but no spans are recorded',
    fields: { remedy: 'what to do' },
    meaning: 'Requests are answered and counted as always. See [tracing](tracing.md).',
  },
  spans_lost: {
    level: 'warn',
    message: 'spans were not exported',
    fields: { cause: 'an error code, or the first words of what the SDK says' },
    meaning:
      'The collector is down, slow, or refuses them, or there are more spans than the SDK queues. Requests are answered and counted as always.',
    atMost: ONE_A_MINUTE,
  },
} as const satisfies LogLines;

const LONGEST_CAUSE = 80;

export type TracingEvents = ReturnType<typeof createTracingEvents>;

export function createTracingEvents({ linesOf }: TelemetryContext) {
  const write = linesOf(TRACING_LINES);
  return {
    off: (remedy: string): void => write('tracing_off', { remedy }),
    spansLost: (cause: string): void =>
      write('spans_lost', { cause: cause.slice(0, LONGEST_CAUSE) }),
  };
}
