/** Settings of Envoy's rate limit service. */
import { z } from 'zod';
import type { ControlPlaneSettings } from './control-plane-settings.ts';
import { pathSetting, portOrOff, setting, switchSetting } from './setting.ts';

/** What headgate needs to answer Envoy's rate limit filter. */
export interface RateLimitSettings {
  /** A file, or a folder with files; undefined: there is a control plane. */
  readonly config: string | undefined;
  readonly controlPlane: ControlPlaneSettings | undefined;
  /** For `/json` and `/healthcheck`; undefined: none. */
  readonly httpPort: number | undefined;
  /** The address of that port; undefined: that of the check server. */
  readonly httpHost: string | undefined;
  readonly windows: 'sliding' | 'aligned';
  /** Whether files may have the same domain, and are then one. */
  readonly mergesDomains: boolean;
  /** Undefined: Envoy's own headers only. */
  readonly headers: HeaderNames | undefined;
  readonly hasBody: boolean;
  readonly hasMetadata: boolean;
  readonly isShadow: boolean;
  readonly isQuota: boolean;
}

export interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

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
  rateLimitConfig: pathSetting({
    name: 'HEADGATE_RATELIMIT_CONFIG',
    topic: 'rateLimit',
    meaning:
      "The limits for Envoy's rate limit filter: a file in the form of envoyproxy/ratelimit, or a folder with such files. headgate then answers the filter at `HEADGATE_GRPC_PORT`. It reads the files again when they change.",
  }),
  rateLimitMergesDomains: switchOf(
    'HEADGATE_RATELIMIT_MERGE_DOMAINS',
    'Whether several files may have limits for the same domain.',
    false,
  ),
  rateLimitWindows: setting({
    name: 'HEADGATE_RATELIMIT_WINDOWS',
    topic: 'rateLimit',
    meaning:
      '`sliding`: exact windows for units up to a day. `aligned`: the windows of envoyproxy/ratelimit, which let up to twice the limit through around the end of a window.',
    expected: 'sliding or aligned',
    schema: z.enum(['sliding', 'aligned']),
    fallback: 'sliding',
  }),
  rateLimitHttpPort: setting({
    name: 'HEADGATE_RATELIMIT_HTTP_PORT',
    topic: 'rateLimit',
    meaning:
      'Port for calls as JSON (`POST /json`) and for `/healthcheck`; 0 picks a free one, `off` disables it.',
    expected: 'a port from 0 to 65535, or off',
    schema: portOrOff,
    fallback: undefined,
    fallbackWords: '`off`',
  }),
  rateLimitHttpHost: setting({
    name: 'HEADGATE_RATELIMIT_HTTP_HOST',
    topic: 'rateLimit',
    meaning: 'Address of that port.',
    expected: 'a host',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: '`HEADGATE_HOST`',
  }),
  rateLimitHeaders: setting({
    name: 'HEADGATE_RATELIMIT_HEADERS',
    topic: 'rateLimit',
    meaning:
      'Whether clients get `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, or the names of three such headers, separated by commas. Envoy can add its own in place of these (`enable_x_ratelimit_headers`).',
    expected: 'on, off, or three names of headers separated by commas',
    schema: headerNames,
    fallback: undefined,
    fallbackWords: '`off`',
  }),
  rateLimitBody: switchOf(
    'HEADGATE_RATELIMIT_BODY',
    'Whether denied clients get a JSON body with the reason, `Retry-After` and a decision id. Without it, the body is what Envoy is configured to send.',
    true,
  ),
  rateLimitMetadata: switchOf(
    'HEADGATE_RATELIMIT_METADATA',
    'Whether answers describe the call in their dynamic metadata, for filters and access logs of Envoy.',
    false,
  ),
  rateLimitShadow: switchOf(
    'HEADGATE_RATELIMIT_SHADOW',
    'Whether no call is denied: limits count and report only.',
    false,
  ),
  rateLimitQuota: switchOf(
    'HEADGATE_RATELIMIT_QUOTA',
    'Whether every limit is in `quota_mode`: a call is denied only if all of its descriptors have limits, and all are used up.',
    false,
  ),
};
