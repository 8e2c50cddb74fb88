/**
 * The settings of traces, under the names that OpenTelemetry gives them:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 *
 * A cluster may set them for every process, so a value that headgate cannot use is a warning in the log and no mistake.
 */
import { z } from 'zod';
import { setting } from './setting.ts';

export const TRACING_SETTINGS = {
  otlpEndpoint: setting({
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    otherName: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    topic: 'tracing',
    meaning: 'The collector that gets spans of sampled checks. See [tracing](tracing.md).',
    expected: 'a URL such as `http://127.0.0.1:4318`',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: 'none: no spans',
  }),
  otlpProtocol: setting({
    name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    otherName: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    topic: 'tracing',
    meaning: 'How spans are sent.',
    expected: '`http/protobuf`',
    schema: z.string(),
    fallback: 'http/protobuf',
  }),
  tracesSampler: setting({
    name: 'OTEL_TRACES_SAMPLER',
    topic: 'tracing',
    meaning:
      'Which checks have spans. By default, those whose `traceparent` says that the proxy records the trace.',
    expected: '`always_on`, `always_off`, `traceidratio`, or one of them after `parentbased_`',
    schema: z.string(),
    fallback: 'parentbased_always_off',
  }),
  tracesSamplerArgument: setting({
    name: 'OTEL_TRACES_SAMPLER_ARG',
    topic: 'tracing',
    meaning: 'The part of the checks that `traceidratio` samples.',
    expected: 'a number from 0 to 1',
    schema: z.string(),
    fallback: '1',
  }),
  tracingDisabled: setting({
    name: 'OTEL_SDK_DISABLED',
    topic: 'tracing',
    meaning: 'Whether spans are off, even if a collector is set.',
    expected: 'true or false',
    schema: z.string().transform((text) => text.toLowerCase() === 'true'),
    fallback: false,
  }),
};
