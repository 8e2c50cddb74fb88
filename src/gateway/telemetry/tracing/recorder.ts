/** Records spans with OpenTelemetry's SDK, which exports them in batches. Nothing of a client is in them. */
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../../config/settings/environment.ts';
import { VERSION } from '../../config/shipped-files.ts';
import type { HeaderFields } from '../../core/check-request.ts';
import type { CheckSpan, TakeSpan } from '../../core/counting/counting.ts';
import type { Decision } from '../../core/counting/decision.ts';
import { StoreError } from '../../core/counting/store.ts';
import { readTraceContext } from '../../core/trace-context.ts';

/** A collector that does not answer must not delay the end of the process. */
const CLOSE_WITHIN_MS = 2_000;
const TOO_LATE = 'the collector did not answer before the process ended';

type SpansLost = (cause: string) => void;

/** Throws an Error that names the setting to change. The exporter reads the other OTEL_EXPORTER_OTLP_ variables itself. */
export function createRecorder(settings: TracingSettings, spansLost: SpansLost) {
  const sampler = samplerFor(settings);
  diag.setLogger(lostSpans(spansLost), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  const provider = new TracerProvider({
    sampler,
    resource: resourceFromAttributes({
      'service.name': 'headgate',
      'service.version': VERSION,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const tracer = provider.getTracer('headgate', VERSION);
  return {
    startSpan: (headers: HeaderFields) => startCheck(tracer, headers),
    async close(): Promise<void> {
      const late = new Promise<Error>((resolve) =>
        setTimeout(resolve, CLOSE_WITHIN_MS, new Error(TOO_LATE)).unref(),
      );
      const failure = provider.shutdown().catch((error: Error) => error);
      const lost = await Promise.race([failure, late]);
      if (lost !== undefined) spansLost(lost.message);
    },
  };
}

function lostSpans(spansLost: SpansLost) {
  const ignore = () => {};
  const report = (text: string) => spansLost(causeIn(text));
  return { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
}

function causeIn(text: string): string {
  try {
    const { code, message } = JSON.parse(text);
    return String(code ?? message);
  } catch {
    return text;
  }
}

function startCheck(tracer: Tracer, headers: HeaderFields): CheckSpan | undefined {
  const span = tracer.startSpan('headgate.check', { kind: SpanKind.SERVER }, parentOf(headers));
  if (!span.isRecording()) return undefined;
  const context = trace.setSpan(ROOT_CONTEXT, span);
  return {
    startTake: (descriptors) => startTake(tracer, context, descriptors),
    decided(decision) {
      span.setAttributes(attributesOf(decision)).end();
    },
    failed: (error) => endFailed(span, error),
  };
}

function parentOf(headers: HeaderFields): Context {
  const parent = readTraceContext(headers);
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, isSampled } = parent;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function attributesOf({ verdict, reason, mode, policy, binding, denial }: Decision) {
  return {
    'headgate.verdict': verdict,
    'headgate.reason': reason,
    'headgate.mode': mode,
    'headgate.policy': policy,
    'headgate.limit': binding?.limit.label,
    'headgate.decision_id': denial?.id,
  };
}

function startTake(tracer: Tracer, context: Context, descriptors: number): TakeSpan {
  const attributes = { 'headgate.descriptors': descriptors };
  const span = tracer.startSpan('headgate.take', { kind: SpanKind.CLIENT, attributes }, context);
  return {
    answered: (admitted) => span.setAttribute('headgate.admitted', admitted).end(),
    failed: (error) => endFailed(span, error),
  };
}

function endFailed(span: Span, error: unknown): void {
  const type = error instanceof StoreError ? error.reason : 'fault';
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR }).end();
}

/** The values of OTEL_TRACES_SAMPLER: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
const ROOTS: Readonly<Record<string, (argument: string) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (argument) => new TraceIdRatioBasedSampler(ratio(argument)),
};
const PARENT_BASED = 'parentbased_';

/** Throws an Error that names the setting. */
function samplerFor({ sampler, samplerArgument }: TracingSettings): Sampler {
  const isParentBased = sampler.startsWith(PARENT_BASED);
  const name = isParentBased ? sampler.slice(PARENT_BASED.length) : sampler;
  const root = Object.hasOwn(ROOTS, name) ? ROOTS[name]?.(samplerArgument) : undefined;
  if (root === undefined) throw new Error(`OTEL_TRACES_SAMPLER: must be one of ${names()}`);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

function names(): string {
  return Object.keys(ROOTS)
    .flatMap((name) => [name, `${PARENT_BASED}${name}`])
    .join(', ');
}

function ratio(argument: string): number {
  const value = argument === '' ? 1 : Number(argument);
  if (value >= 0 && value <= 1) return value;
  throw new Error('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1');
}
