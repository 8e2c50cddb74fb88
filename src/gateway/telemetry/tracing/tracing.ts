/** Sends spans of sampled checks to an OpenTelemetry collector. The SDK is loaded only if a collector is configured. */
import type { TracingSettings } from '../../config/settings/environment.ts';
import type { CheckSpan, StartCheckSpan } from '../../core/counting/counting.ts';
import type { Decision } from '../../core/counting/decision.ts';
import type { TelemetryContext } from '../context.ts';
import { type LogLines, ONE_A_MINUTE } from '../log/log-line.ts';

export interface Tracing {
  /** Undefined: no spans are recorded. */
  readonly startSpan: StartCheckSpan | undefined;
  /** Sends the spans that are left, for at most two seconds. */
  close(): Promise<void>;
}

export const NO_TRACING: Tracing = {
  startSpan: undefined,
  close: async () => {},
};

const INSTALL =
  'npm install @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/exporter-trace-otlp-proto';
const PROTOCOL = 'http/protobuf';

/** If there is no collector, or spans cannot be recorded, checks and calls are answered all the same. Never rejects. */
export async function openTracing(
  settings: TracingSettings | undefined,
  events: TracingEvents,
): Promise<Tracing> {
  if (settings === undefined) return NO_TRACING;
  try {
    return await open(settings, events);
  } catch (error) {
    events.off(remedyOf(error));
    return NO_TRACING;
  }
}

async function open(settings: TracingSettings, events: TracingEvents): Promise<Tracing> {
  if (settings.protocol !== PROTOCOL)
    throw new Error(`OTEL_EXPORTER_OTLP_PROTOCOL: headgate exports over ${PROTOCOL} only`);
  const { createRecorder } = await import('./recorder.ts');
  return createRecorder(settings, events.spansLost);
}

function remedyOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND'
    ? `install OpenTelemetry beside headgate: ${INSTALL}`
    : message;
}

/** Ends the span with what `decide` decides. A check or call that is not sampled has none. */
export function inSpan<Result>(
  span: CheckSpan | undefined,
  decide: (span?: CheckSpan) => Result | Promise<Result>,
  decisionOf: (result: Result) => Decision,
): Result | Promise<Result> {
  if (span === undefined) return decide();
  const record = (result: Result) => {
    span.decided(decisionOf(result));
    return result;
  };
  const recordFailure = (error: unknown): never => {
    span.failed(error);
    throw error;
  };
  try {
    const result = decide(span);
    return result instanceof Promise ? result.then(record, recordFailure) : record(result);
  } catch (error) {
    return recordFailure(error);
  }
}

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
