/**
 * Reads the environment of envoyproxy/ratelimit (src/settings/settings.go), so that headgate can take its place: each
 * variable becomes a setting of headgate, or a note that it has no effect. Settings of headgate that are set win.
 */
import { randomBytes } from 'node:crypto';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { isServiceLink } from '../../gateway/config/settings/environment.ts';
import { DROP_IN_POLICIES } from '../../gateway/config/shipped-files.ts';
import { ignored } from './ignored.ts';
import { portsOf } from './ports.ts';
import { redisUrlOf } from './redis.ts';
import { rulesOf } from './rules.ts';
import { formMistakes, type Given, isTrue, type Mapped, textsThatHold } from './variable.ts';

export interface DropIn {
  readonly variables: NodeJS.ProcessEnv;
  readonly notes: readonly string[];
}

export function dropInFor(given: Given): DropIn {
  const parts = [portsOf, rulesOf, redisUrlOf, answersOf, unsupported].map((part) => part(given));
  const mistakes = parts.flatMap((part) => part.mistakes ?? []);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const settings: Record<string, string> = {
    HEADGATE_POLICIES: DROP_IN_POLICIES,
    // Without a token of the operator's, nobody has one: the ops port shows health and metrics only.
    HEADGATE_ADMIN_TOKEN: randomBytes(24).toString('base64url'),
    // Theirs has spans with TRACING_ENABLED only; headgate has none of calls of the rate limit filter.
    OTEL_SDK_DISABLED: 'true',
    ...Object.assign({}, ...parts.map((part) => part.settings ?? {})),
  };
  // In a cluster with a Service called headgate, Kubernetes sets HEADGATE_PORT.
  const isMissing = (value = '') => value === '' || isServiceLink(value);
  const missing = Object.entries(settings).filter(([name]) => isMissing(given[name]));
  return {
    // Their REDIS_URL has another form than headgate's variable of this name.
    variables: { ...given, ...Object.fromEntries(missing), REDIS_URL: undefined },
    notes: [...parts.flatMap((part) => part.notes ?? []), ...ignored(given)],
  };
}

/** Theirs, and headgate's. */
const LOG_LEVELS: Readonly<Record<string, string>> = {
  panic: 'fatal',
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  warning: 'warn',
  info: 'info',
  debug: 'debug',
  trace: 'trace',
};

function answersOf(given: Given): Mapped {
  const names = [
    given.LIMIT_LIMIT_HEADER || 'RateLimit-Limit',
    given.LIMIT_REMAINING_HEADER || 'RateLimit-Remaining',
    given.LIMIT_RESET_HEADER || 'RateLimit-Reset',
  ];
  const level = given.LOG_LEVEL?.toLowerCase();
  return {
    settings: {
      ...(isTrue(given.LIMIT_RESPONSE_HEADERS_ENABLED) && {
        HEADGATE_RATELIMIT_HEADERS: names.join(','),
      }),
      ...(isTrue(given.RESPONSE_DYNAMIC_METADATA) && { HEADGATE_RATELIMIT_METADATA: 'on' }),
      ...(isTrue(given.SHADOW_MODE) && { HEADGATE_RATELIMIT_SHADOW: 'on' }),
      ...(isTrue(given.QUOTA_MODE) && { HEADGATE_RATELIMIT_QUOTA: 'on' }),
      ...(level && { HEADGATE_LOG_LEVEL: LOG_LEVELS[level] ?? '' }),
    },
    mistakes: textsThatHold({
      [`LOG_LEVEL: must be one of ${Object.keys(LOG_LEVELS).join(', ')}`]:
        level && !Object.hasOwn(LOG_LEVELS, level),
    }),
  };
}

function unsupported(given: Given): Mapped {
  const backend = given.BACKEND_TYPE || 'redis';
  return {
    mistakes: [
      ...formMistakes(given),
      ...textsThatHold({
        [`BACKEND_TYPE: headgate counts in Redis, not in ${backend}: set it to redis, and REDIS_URL`]:
          backend !== 'redis',
        'GRPC_UDS: headgate answers gRPC on a port only: unset it, and set GRPC_PORT':
          given.GRPC_UDS,
      }),
    ],
  };
}
