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
import { pathSetting, setting, switchSetting } from './setting.ts';

const BEFORE_LIMITS = ['unhealthy', 'fail', 'allow'] as const;
const target = z.string().transform((text, context): Target => {
  try {
    // Only the variable of envoyproxy/ratelimit may begin like this.
    if (!text.startsWith('dns:')) return parseTarget(text);
  } catch {
    // The setting says what it must be.
  }
  context.addIssue({ code: 'invalid_format', format: 'target', input: text });
  return z.NEVER;
});

function path(name: string, meaning: string) {
  return pathSetting({ name, meaning, topic: 'rateLimit' });
}

export const CONTROL_PLANE_SETTINGS = {
  target: setting({
    name: 'HEADGATE_RATELIMIT_CONTROL_PLANE',
    topic: 'rateLimit',
    meaning:
      'Address of a control plane, such as Envoy Gateway, that sends the limits over xDS. It replaces `HEADGATE_RATELIMIT_CONFIG`.',
    expected: 'host:port',
    schema: target,
    fallback: undefined,
    fallbackWords: 'none',
  }),
  node: setting({
    name: 'HEADGATE_RATELIMIT_NODE',
    topic: 'rateLimit',
    meaning: 'The node id by which the control plane knows the gateway.',
    expected: 'a text',
    schema: z.string(),
    fallback: 'default',
  }),
  nodeMetadata: setting({
    name: 'HEADGATE_RATELIMIT_NODE_METADATA',
    topic: 'rateLimit',
    meaning:
      'What the control plane gets to know of the gateway besides the node id, such as `zone=a,team=shop`.',
    expected: METADATA_FORM,
    schema: z.string().transform(holds(parseMetadata)),
    fallback: {},
    fallbackWords: 'none',
  }),
  headers: setting({
    name: 'HEADGATE_RATELIMIT_CONTROL_PLANE_HEADERS',
    topic: 'rateLimit',
    meaning: 'Headers that the gateway sends to the control plane, for example a token.',
    expected: HEADERS_FORM,
    schema: z.string().transform(holds(parseHeaders)),
    fallback: {},
    fallbackWords: 'none',
    // It may contain a token.
    isSecret: true,
  }),
  beforeLimits: setting({
    name: 'HEADGATE_RATELIMIT_BEFORE_LIMITS',
    topic: 'rateLimit',
    meaning:
      "What happens until the control plane has sent the first limits. `unhealthy`: `/healthcheck` answers 500, and calls fail. `fail`: `/healthcheck` passes, and calls fail, so that Envoy's `failure_mode_deny` decides. `allow`: `/healthcheck` passes, and calls pass uncounted.",
    expected: 'unhealthy, fail or allow',
    schema: z.enum(BEFORE_LIMITS),
    fallback: 'unhealthy',
  }),
  lastGood: path(
    'HEADGATE_RATELIMIT_LAST_GOOD',
    'File in which the last limits of the control plane are kept, so that a gateway can start without it.',
  ),
  hasTls: switchSetting({
    name: 'HEADGATE_RATELIMIT_CONTROL_PLANE_TLS',
    topic: 'rateLimit',
    meaning: 'Whether the connection to the control plane uses TLS.',
    fallback: false,
  }),
  ca: path(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_CA',
    'File with the certificates of the authorities that the control plane must have its certificate from.',
  ),
  certificate: path(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_CERT',
    'File with the certificate that the gateway shows to the control plane.',
  ),
  key: path('HEADGATE_RATELIMIT_CONTROL_PLANE_KEY', 'File with the key of that certificate.'),
  serverName: setting({
    name: 'HEADGATE_RATELIMIT_CONTROL_PLANE_NAME',
    topic: 'rateLimit',
    meaning: 'The name that the certificate of the control plane must have.',
    expected: 'a name',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: 'its host',
  }),
};
