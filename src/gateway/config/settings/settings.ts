import { z } from 'zod';
import { SHIPPED_POLICIES, SHIPPED_RANGES } from '../shipped-files.ts';
import { CONTROL_PLANE_SETTINGS } from './control-plane-settings.ts';
import { GRPC_TLS_SETTINGS, OPS_PORT_SETTINGS, PROXY_PORT_SETTINGS } from './port-settings.ts';
import { RATE_LIMIT_SETTINGS } from './rate-limit-settings.ts';
import { REDIS_SETTINGS } from './redis-settings.ts';
import { bearerToken, type Setting, secretList, setting, wholeNumber } from './setting.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const SECRET_AND_FILE_SETTINGS = {
  proxySecrets: setting({
    name: 'HEADGATE_PROXY_SECRET',
    topic: 'trust',
    meaning:
      'The secret that proxies send as `X-Headgate-Secret`. A caller without it gets 403. Set the old and the new one while you replace it.',
    expected:
      'at least 16 letters, digits or punctuation marks, without spaces; several are separated by commas',
    schema: secretList,
    fallback: [] as readonly string[],
    fallbackWords: 'none: no secret is required',
    isSecret: true,
  }),
  adminToken: setting({
    name: 'HEADGATE_ADMIN_TOKEN',
    topic: 'trust',
    meaning:
      'Bearer token that the ops API requires. `/livez`, `/readyz` and `/metrics` never require it. Without a token, `HEADGATE_OPS_HOST` must be a loopback address.',
    expected:
      'at least 16 letters, digits or any of "-._~+/", with "=" at the end only, 256 at most',
    schema: bearerToken,
    fallback: undefined,
    fallbackWords: 'none: loopback only',
    isSecret: true,
  }),
  ipSaltSecret: setting({
    name: 'HEADGATE_IP_SALT_SECRET',
    topic: 'trust',
    meaning:
      'Secret from which gateways derive the salts of address pseudonyms and the key of the hashes of users and header values, so that they share them without Redis. Anyone who has it can compute the salts of every day. A change renames all clients: counters start at zero, and overrides of users apply to nobody.',
    expected: 'at least 32 characters',
    schema: z.string().min(32),
    fallback: undefined,
    fallbackWords: 'none: salts are random and shared through Redis',
    isSecret: true,
  }),
  policies: setting({
    name: 'HEADGATE_POLICIES',
    topic: 'policies',
    meaning:
      'The policy file. headgate reads it again when it changes, and on SIGHUP. The option `--policies FILE` wins over this.',
    expected: 'a path',
    schema: z.string(),
    fallback: SHIPPED_POLICIES,
    fallbackWords: '`config/policies.yaml` of headgate',
  }),
  cloudflareRanges: setting({
    name: 'HEADGATE_CLOUDFLARE_RANGES',
    topic: 'policies',
    meaning: 'The list of Cloudflare networks. headgate believes `CF-Connecting-IP` from these.',
    expected: 'a path',
    schema: z.string(),
    fallback: SHIPPED_RANGES,
    fallbackWords: '`config/cloudflare-ranges.yaml` of headgate',
  }),
};

export const PROCESS_SETTINGS = {
  storeTimeoutMs: setting({
    name: 'HEADGATE_STORE_TIMEOUT_MS',
    topic: 'counts',
    meaning: 'Maximum wait for Redis, in milliseconds. After it, `on_store_failure` decides.',
    expected: 'milliseconds from 1 to 10000',
    schema: wholeNumber(1, 10_000),
    fallback: 50,
  }),
  replicas: setting({
    name: 'HEADGATE_REPLICAS',
    topic: 'counts',
    meaning:
      'Number of gateways that share a limit if Redis is down when a gateway starts. Set it if there are several: with 1, each gateway that starts then admits its full limits. Once Redis has answered, headgate uses the number that it reported.',
    expected: 'a number from 1 to 1000',
    schema: wholeNumber(1, 1_000),
    fallback: 1,
  }),
  rememberedDenials: setting({
    name: 'HEADGATE_REMEMBERED_DENIALS',
    topic: 'counts',
    meaning:
      'Maximum number of denials cached in memory; 0 disables the cache, so every request goes to Redis.',
    expected: 'a number from 0 to 1000000',
    schema: wholeNumber(0, 1_000_000),
    fallback: 10_000,
  }),
  memoryMaxKeys: setting({
    name: 'HEADGATE_MEMORY_MAX_KEYS',
    topic: 'counts',
    meaning: 'Maximum number of keys in the memory store. Plan 300 to 650 bytes for each.',
    expected: 'a number from 1000 to 10000000',
    schema: wholeNumber(1_000, 10_000_000),
    fallback: 1_000_000,
  }),
  workers: setting({
    name: 'HEADGATE_WORKERS',
    topic: 'process',
    meaning: 'Worker processes that share the check server port. More than 1 requires Redis.',
    expected: 'a number from 1 to 256',
    schema: wholeNumber(1, 256),
    fallback: 1,
  }),
  worker: setting({
    name: 'HEADGATE_WORKER',
    topic: 'process',
    meaning: 'Number of a worker process. The supervisor sets it; do not set it yourself.',
    expected: 'a number that the supervisor sets',
    schema: wholeNumber(0, 255),
    fallback: undefined,
    fallbackWords: 'none',
  }),
  drainMs: setting({
    name: 'HEADGATE_DRAIN_MS',
    topic: 'process',
    meaning:
      'How long headgate continues to answer after SIGTERM, in milliseconds, so that proxies notice and stop calling it.',
    expected: 'milliseconds from 0 to 600000',
    schema: wholeNumber(0, 600_000),
    fallback: 5_000,
  }),
  logLevel: setting({
    name: 'HEADGATE_LOG_LEVEL',
    topic: 'process',
    meaning: 'Minimum log level.',
    expected: `one of ${LOG_LEVELS.join(', ')}`,
    schema: z.enum(LOG_LEVELS),
    fallback: 'info',
  }),
};

/**
 * The settings of traces have the names that OpenTelemetry gives them:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 * A cluster may set them for every process, so a value that headgate cannot use is a warning in the log and no mistake.
 */
export const TRACING_SETTINGS = {
  endpoint: setting({
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    otherName: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    topic: 'tracing',
    meaning: 'The collector that gets spans of sampled checks. See [tracing](tracing.md).',
    expected: 'a URL such as `http://127.0.0.1:4318`',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: 'none: no spans',
  }),
  protocol: setting({
    name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    otherName: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    topic: 'tracing',
    meaning: 'How spans are sent.',
    expected: '`http/protobuf`',
    schema: z.string(),
    fallback: 'http/protobuf',
  }),
  sampler: setting({
    name: 'OTEL_TRACES_SAMPLER',
    topic: 'tracing',
    meaning:
      'Which checks have spans. By default, those whose `traceparent` says that the proxy records the trace.',
    expected: '`always_on`, `always_off`, `traceidratio`, or one of them after `parentbased_`',
    schema: z.string(),
    fallback: 'parentbased_always_off',
  }),
  samplerArgument: setting({
    name: 'OTEL_TRACES_SAMPLER_ARG',
    topic: 'tracing',
    meaning: 'The part of the checks that `traceidratio` samples.',
    expected: 'a number from 0 to 1',
    schema: z.string(),
    fallback: '1',
  }),
  isDisabled: setting({
    name: 'OTEL_SDK_DISABLED',
    topic: 'tracing',
    meaning: 'Whether spans are off, even if a collector is set.',
    expected: 'true or false',
    schema: z.string().transform((text) => text.toLowerCase() === 'true'),
    fallback: false,
  }),
};

/** In the order of the reference. */
export const SETTINGS: readonly Setting[] = [
  PROXY_PORT_SETTINGS,
  GRPC_TLS_SETTINGS,
  OPS_PORT_SETTINGS,
  SECRET_AND_FILE_SETTINGS,
  REDIS_SETTINGS,
  PROCESS_SETTINGS,
  RATE_LIMIT_SETTINGS,
  CONTROL_PLANE_SETTINGS,
  TRACING_SETTINGS,
].flatMap((group): Setting[] => Object.values(group));
