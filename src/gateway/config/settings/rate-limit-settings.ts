/** Settings of Envoy's rate limit service, and of the control plane that sends its limits. */
import { z } from 'zod';
import { holds } from '../refinement.ts';
import {
  HEADERS_FORM,
  METADATA_FORM,
  parseHeaders,
  parseMetadata,
  parseTarget,
  type Target,
} from './control-plane-forms.ts';
import { HOST, NONE, PORT_OR_OFF, pathSetting, setting, switchSetting, text } from './setting.ts';

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
        .transform((names) => names.split(',')),
    )
    .transform(([limit = '', remaining = '', reset = '']) => ({ limit, remaining, reset })),
]);

export const RATE_LIMIT_SETTINGS = {
  config: pathSetting(
    'HEADGATE_RATELIMIT_CONFIG',
    "The limits for Envoy's rate limit filter: a file in the form of envoyproxy/ratelimit, or a folder with such files. headgate then answers the filter at `HEADGATE_GRPC_PORT`. It reads the files again when they change.",
  ),
  mergesDomains: switchSetting(
    'HEADGATE_RATELIMIT_MERGE_DOMAINS',
    'Whether several files may have limits for the same domain.',
    false,
  ),
  windows: setting(
    'HEADGATE_RATELIMIT_WINDOWS',
    '`sliding`: exact windows for units up to a day. `aligned`: the windows of envoyproxy/ratelimit, which let up to twice the limit through around the end of a window.',
    {
      expected: 'sliding or aligned',
      schema: z.enum(['sliding', 'aligned']),
      fallback: 'sliding',
    },
  ),
  httpPort: setting(
    'HEADGATE_RATELIMIT_HTTP_PORT',
    'Port for calls as JSON (`POST /json`) and for `/healthcheck`; 0 picks a free one, `off` disables it.',
    { ...PORT_OR_OFF, fallback: undefined, fallbackWords: '`off`' },
  ),
  httpHost: setting('HEADGATE_RATELIMIT_HTTP_HOST', 'Address of that port.', {
    ...HOST,
    fallback: undefined,
    fallbackWords: '`HEADGATE_HOST`',
  }),
  headers: setting(
    'HEADGATE_RATELIMIT_HEADERS',
    'Whether clients get `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, or the names of three such headers, separated by commas. Envoy can add its own in place of these (`enable_x_ratelimit_headers`).',
    {
      expected: 'on, off, or three names of headers separated by commas',
      schema: headerNames,
      fallback: undefined,
      fallbackWords: '`off`',
    },
  ),
  hasBody: switchSetting(
    'HEADGATE_RATELIMIT_BODY',
    'Whether denied clients get a JSON body with the reason, `Retry-After` and a decision id. Without it, the body is what Envoy is configured to send.',
    true,
  ),
  hasMetadata: switchSetting(
    'HEADGATE_RATELIMIT_METADATA',
    'Whether answers describe the call in their dynamic metadata, for filters and access logs of Envoy.',
    false,
  ),
  isShadow: switchSetting(
    'HEADGATE_RATELIMIT_SHADOW',
    'Whether no call is denied: limits count and report only.',
    false,
  ),
  isQuota: switchSetting(
    'HEADGATE_RATELIMIT_QUOTA',
    'Whether every limit is in `quota_mode`: a call is denied only if all of its descriptors have limits, and all are used up.',
    false,
  ),
};

const target = z.string().transform((value, context): Target => {
  try {
    // Only the variable of envoyproxy/ratelimit may begin like this.
    if (!value.startsWith('dns:')) return parseTarget(value);
  } catch {
    // The setting says what it must be.
  }
  context.addIssue({ code: 'invalid_format', format: 'target', input: value });
  return z.NEVER;
});

export const CONTROL_PLANE_SETTINGS = {
  target: setting(
    'HEADGATE_RATELIMIT_CONTROL_PLANE',
    'Address of a control plane, such as Envoy Gateway, that sends the limits over xDS. It replaces `HEADGATE_RATELIMIT_CONFIG`.',
    { expected: 'host:port', schema: target, ...NONE },
  ),
  node: setting(
    'HEADGATE_RATELIMIT_NODE',
    'The node id by which the control plane knows the gateway.',
    { ...text('a text'), fallback: 'default' },
  ),
  nodeMetadata: setting(
    'HEADGATE_RATELIMIT_NODE_METADATA',
    'What the control plane gets to know of the gateway besides the node id, such as `zone=a,team=shop`.',
    {
      expected: METADATA_FORM,
      schema: z.string().transform(holds(parseMetadata)),
      fallback: {},
      fallbackWords: 'none',
    },
  ),
  headers: setting(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_HEADERS',
    'Headers that the gateway sends to the control plane, for example a token.',
    {
      expected: HEADERS_FORM,
      schema: z.string().transform(holds(parseHeaders)),
      fallback: {},
      fallbackWords: 'none',
      isSecret: true,
    },
  ),
  beforeLimits: setting(
    'HEADGATE_RATELIMIT_BEFORE_LIMITS',
    "What happens until the control plane has sent the first limits. `unhealthy`: `/healthcheck` answers 500, and calls fail. `fail`: `/healthcheck` passes, and calls fail, so that Envoy's `failure_mode_deny` decides. `allow`: `/healthcheck` passes, and calls pass uncounted.",
    {
      expected: 'unhealthy, fail or allow',
      schema: z.enum(['unhealthy', 'fail', 'allow']),
      fallback: 'unhealthy',
    },
  ),
  lastGood: pathSetting(
    'HEADGATE_RATELIMIT_LAST_GOOD',
    'File in which the last limits of the control plane are kept, so that a gateway can start without it.',
  ),
  hasTls: switchSetting(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_TLS',
    'Whether the connection to the control plane uses TLS.',
    false,
  ),
  ca: pathSetting(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_CA',
    'File with the certificates of the authorities that the control plane must have its certificate from.',
  ),
  certificate: pathSetting(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_CERT',
    'File with the certificate that the gateway shows to the control plane.',
  ),
  key: pathSetting(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_KEY',
    'File with the key of that certificate.',
  ),
  serverName: setting(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_NAME',
    'The name that the certificate of the control plane must have.',
    { ...text('a name'), fallback: undefined, fallbackWords: 'its host' },
  ),
};
