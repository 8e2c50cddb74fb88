import { z } from 'zod';
import { pathSetting, portOrOff, setting, switchSetting } from './setting.ts';

/** Three tokens of HTTP (RFC 9110, section 5.6.2). */
const THREE_NAMES = /^[!#$%&'*+.^_`|~\dA-Za-z-]+(?:,[!#$%&'*+.^_`|~\dA-Za-z-]+){2}$/;

const headerNames = z.union([
  z.literal('off').transform(() => undefined),
  z
    .literal('on')
    .transform(() => ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'])
    .or(
      z
        .string()
        .regex(THREE_NAMES)
        .transform((text) => text.split(',')),
    )
    .transform(([limit = '', remaining = '', reset = '']) => ({ limit, remaining, reset })),
]);

function switchOf(name: string, meaning: string, fallback: boolean) {
  return switchSetting({ name, meaning, topic: 'rateLimit', fallback });
}

export const RATE_LIMIT_SETTINGS = {
  config: pathSetting({
    name: 'HEADGATE_RATELIMIT_CONFIG',
    topic: 'rateLimit',
    meaning:
      "The limits for Envoy's rate limit filter: a file in the form of envoyproxy/ratelimit, or a folder with such files. headgate then answers the filter at `HEADGATE_GRPC_PORT`. It reads the files again when they change.",
  }),
  mergesDomains: switchOf(
    'HEADGATE_RATELIMIT_MERGE_DOMAINS',
    'Whether several files may have limits for the same domain.',
    false,
  ),
  windows: setting({
    name: 'HEADGATE_RATELIMIT_WINDOWS',
    topic: 'rateLimit',
    meaning:
      '`sliding`: exact windows for units up to a day. `aligned`: the windows of envoyproxy/ratelimit, which let up to twice the limit through around the end of a window.',
    expected: 'sliding or aligned',
    schema: z.enum(['sliding', 'aligned']),
    fallback: 'sliding',
  }),
  httpPort: setting({
    name: 'HEADGATE_RATELIMIT_HTTP_PORT',
    topic: 'rateLimit',
    meaning:
      'Port for calls as JSON (`POST /json`) and for `/healthcheck`; 0 picks a free one, `off` disables it.',
    expected: 'a port from 0 to 65535, or off',
    schema: portOrOff,
    fallback: undefined,
    fallbackWords: '`off`',
  }),
  httpHost: setting({
    name: 'HEADGATE_RATELIMIT_HTTP_HOST',
    topic: 'rateLimit',
    meaning: 'Address of that port.',
    expected: 'a host',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: '`HEADGATE_HOST`',
  }),
  headers: setting({
    name: 'HEADGATE_RATELIMIT_HEADERS',
    topic: 'rateLimit',
    meaning:
      'Whether clients get `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, or the names of three such headers, separated by commas. Envoy can add its own in place of these (`enable_x_ratelimit_headers`).',
    expected: 'on, off, or three names of headers separated by commas',
    schema: headerNames,
    fallback: undefined,
    fallbackWords: '`off`',
  }),
  hasBody: switchOf(
    'HEADGATE_RATELIMIT_BODY',
    'Whether denied clients get a JSON body with the reason, `Retry-After` and a decision id. Without it, the body is what Envoy is configured to send.',
    true,
  ),
  hasMetadata: switchOf(
    'HEADGATE_RATELIMIT_METADATA',
    'Whether answers describe the call in their dynamic metadata, for filters and access logs of Envoy.',
    false,
  ),
  isShadow: switchOf(
    'HEADGATE_RATELIMIT_SHADOW',
    'Whether no call is denied: limits count and report only.',
    false,
  ),
  isQuota: switchOf(
    'HEADGATE_RATELIMIT_QUOTA',
    'Whether every limit is in `quota_mode`: a call is denied only if all of its descriptors have limits, and all are used up.',
    false,
  ),
};
