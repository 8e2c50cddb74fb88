import { z } from 'zod';
import { holds } from '../refinement.ts';
import { SHIPPED_POLICIES, SHIPPED_RANGES } from '../shipped-files.ts';
import { GRPC_TLS_SETTINGS, OPS_PORT_SETTINGS, PROXY_PORT_SETTINGS } from './port-settings.ts';
import { CONTROL_PLANE_SETTINGS, RATE_LIMIT_SETTINGS } from './rate-limit-settings.ts';
import { parseRedisUrl, REDIS_URL_FORM } from './redis-url.ts';
import { NONE, PATH, pathSetting, type Setting, setting, text, wholeNumber } from './setting.ts';
import { SETTLEMENT_SETTINGS } from './settlement-settings.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const SECRET_LIST = {
  expected:
    'at least 16 letters, digits or punctuation marks, without spaces; several are separated by commas',
  // Characters that every proxy passes on unchanged in a header value.
  schema: z
    .string()
    .regex(/^[!-+\--~]{16,256}(,[!-+\--~]{16,256})*$/)
    .transform((list) => list.split(',')),
  fallback: [] as readonly string[],
  isSecret: true,
} as const;

/** The characters that RFC 6750 allows after `Bearer`. */
const bearerToken = z
  .string()
  .min(16)
  .max(256)
  .regex(/^[A-Za-z0-9._~+/-]+=*$/);

export const SECRET_SETTINGS = {
  proxySecrets: setting(
    'HEADGATE_PROXY_SECRET',
    'The secret that proxies send as `X-Headgate-Secret`. A caller without it gets 403. Set the old and the new one while you replace it.',
    { ...SECRET_LIST, fallbackWords: 'none: no secret is required' },
  ),
  settleSecrets: setting(
    'HEADGATE_SETTLE_SECRET',
    'The secret that applications send to `POST /settle` as `X-Headgate-Settle-Secret`. It can settle, and nothing else; the proxy secret can settle, too. Set the old and the new one while you replace it.',
    {
      ...SECRET_LIST,
      fallbackWords: 'none: without a proxy secret, callers of this machine can settle',
    },
  ),
  adminToken: setting(
    'HEADGATE_ADMIN_TOKEN',
    'Bearer token that the ops API requires. `/livez`, `/readyz` and `/metrics` never require it. Without a token, `HEADGATE_OPS_HOST` must be a loopback address.',
    {
      expected:
        'at least 16 letters, digits or any of "-._~+/", with "=" at the end only, 256 at most',
      schema: bearerToken,
      fallback: undefined,
      fallbackWords: 'none: loopback only',
      isSecret: true,
    },
  ),
  ipSaltSecret: setting(
    'HEADGATE_IP_SALT_SECRET',
    'Secret from which gateways derive the salts of address pseudonyms and the key of the hashes of users and header values, so that they share them without Redis. Anyone who has it can compute the salts of every day. A change renames all clients: counters start at zero, and overrides of users apply to nobody.',
    {
      expected: 'at least 32 characters',
      schema: z.string().min(32),
      fallback: undefined,
      fallbackWords: 'none: salts are random and shared through Redis',
      isSecret: true,
    },
  ),
};

export const FILE_SETTINGS = {
  policies: setting(
    'HEADGATE_POLICIES',
    'The policy file. headgate reads it again when it changes, and on SIGHUP. The option `--policies FILE` wins over this.',
    { ...PATH, fallback: SHIPPED_POLICIES, fallbackWords: '`config/policies.yaml` of headgate' },
  ),
  cloudflareRanges: setting(
    'HEADGATE_CLOUDFLARE_RANGES',
    'The list of Cloudflare networks. headgate believes `CF-Connecting-IP` from these.',
    {
      ...PATH,
      fallback: SHIPPED_RANGES,
      fallbackWords: '`config/cloudflare-ranges.yaml` of headgate',
    },
  ),
};

export const REDIS_SETTINGS = {
  target: setting(
    'HEADGATE_REDIS_URL',
    'The Redis in which gateways count together. `rediss` in place of `redis` uses TLS. See [Redis](redis.md).',
    {
      otherName: 'REDIS_URL',
      expected: REDIS_URL_FORM,
      schema: z.string().transform(holds(parseRedisUrl)),
      fallback: undefined,
      fallbackWords: 'none: each process counts in its own memory',
      // It may contain a password.
      isSecret: true,
    },
  ),
  ca: pathSetting(
    'HEADGATE_REDIS_TLS_CA',
    'File with the certificates of the authorities that Redis must have its certificate from.',
    'those that Node trusts',
  ),
  certificate: pathSetting(
    'HEADGATE_REDIS_TLS_CERT',
    'File with the certificate that headgate shows to Redis, for a Redis that requires one.',
  ),
  key: pathSetting('HEADGATE_REDIS_TLS_KEY', 'File with the key of that certificate.'),
};

export const COUNTING_SETTINGS = {
  storeTimeoutMs: setting(
    'HEADGATE_STORE_TIMEOUT_MS',
    'Maximum wait for Redis, in milliseconds. After it, `on_store_failure` decides.',
    { ...wholeNumber('milliseconds', 1, 10_000), fallback: 50 },
  ),
  replicas: setting(
    'HEADGATE_REPLICAS',
    'Number of gateways that share a limit if Redis is down when a gateway starts. Set it if there are several: with 1, each gateway that starts then admits its full limits. Once Redis has answered, headgate uses the number that it reported.',
    { ...wholeNumber('a number', 1, 1_000), fallback: 1 },
  ),
  rememberedDenials: setting(
    'HEADGATE_REMEMBERED_DENIALS',
    'Maximum number of denials cached in memory; 0 disables the cache, so every request goes to Redis.',
    { ...wholeNumber('a number', 0, 1_000_000), fallback: 10_000 },
  ),
  memoryMaxKeys: setting(
    'HEADGATE_MEMORY_MAX_KEYS',
    'Maximum number of keys in the memory store. Plan 300 to 650 bytes for each.',
    { ...wholeNumber('a number', 1_000, 10_000_000), fallback: 1_000_000 },
  ),
};

export const PROCESS_SETTINGS = {
  workers: setting(
    'HEADGATE_WORKERS',
    'Worker processes that share the check server port. More than 1 requires Redis.',
    { ...wholeNumber('a number', 1, 256), fallback: 1 },
  ),
  worker: setting(
    'HEADGATE_WORKER',
    'Number of a worker process. The supervisor sets it; do not set it yourself.',
    { ...wholeNumber('', 0, 255), expected: 'a number that the supervisor sets', ...NONE },
  ),
  drainMs: setting(
    'HEADGATE_DRAIN_MS',
    'How long headgate continues to answer after SIGTERM, in milliseconds, so that proxies notice and stop calling it.',
    { ...wholeNumber('milliseconds', 0, 600_000), fallback: 5_000 },
  ),
  logLevel: setting('HEADGATE_LOG_LEVEL', 'Minimum log level.', {
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
  endpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'The collector that gets spans of sampled checks. See [tracing](tracing.md).',
    {
      otherName: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      ...text('a URL such as `http://127.0.0.1:4318`'),
      fallback: undefined,
      fallbackWords: 'none: no spans',
    },
  ),
  protocol: setting('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'How spans are sent.', {
    otherName: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    ...text('`http/protobuf`'),
    fallback: 'http/protobuf',
  }),
  sampler: setting(
    'OTEL_TRACES_SAMPLER',
    'Which checks have spans. By default, those whose `traceparent` says that the proxy records the trace.',
    {
      ...text('`always_on`, `always_off`, `traceidratio`, or one of them after `parentbased_`'),
      fallback: 'parentbased_always_off',
    },
  ),
  samplerArgument: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    'The part of the checks that `traceidratio` samples.',
    { ...text('a number from 0 to 1'), fallback: '1' },
  ),
  isDisabled: setting('OTEL_SDK_DISABLED', 'Whether spans are off, even if a collector is set.', {
    expected: 'true or false',
    schema: z.string().transform((value) => value.toLowerCase() === 'true'),
    fallback: false,
  }),
};

/** The sections of the reference, in its order. */
export const TOPICS: Readonly<Record<string, readonly Setting[]>> = {
  'Ports and sockets': listed(PROXY_PORT_SETTINGS, GRPC_TLS_SETTINGS, OPS_PORT_SETTINGS),
  'Access and secrets': listed(SECRET_SETTINGS),
  Files: listed(FILE_SETTINGS),
  Counting: listed(REDIS_SETTINGS, COUNTING_SETTINGS),
  'Charging afterwards': listed(SETTLEMENT_SETTINGS),
  'The process': listed(PROCESS_SETTINGS),
  "Envoy's rate limit service": listed(RATE_LIMIT_SETTINGS, CONTROL_PLANE_SETTINGS),
  Traces: listed(TRACING_SETTINGS),
};

function listed(...groups: readonly Readonly<Record<string, Setting>>[]): Setting[] {
  return groups.flatMap((group) => Object.values(group));
}

export const SETTINGS: readonly Setting[] = Object.values(TOPICS).flat();
