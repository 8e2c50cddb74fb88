/** Settings of the control plane that sends the limits of Envoy's rate limit service. */
import { z } from 'zod';
import { holds } from '../refinement.ts';
import { pathSetting, type ReadSetting, setting, switchSetting } from './setting.ts';
import { parseTarget, type Target } from './target.ts';
import {
  HEADERS_FORM,
  METADATA_FORM,
  parseHeaders,
  parseMetadata,
  type TextPairs,
} from './text-pairs.ts';

/**
 * What happens before the first limits have come. `unhealthy`: `/healthcheck` fails, and calls fail. `fail`: calls fail.
 * `allow`: calls pass.
 */
const BEFORE_LIMITS = ['unhealthy', 'fail', 'allow'] as const;
export type BeforeLimits = (typeof BEFORE_LIMITS)[number];

export interface ControlPlaneSettings extends Target {
  /** The id by which the control plane knows the gateway. */
  readonly node: string;
  /** What else it gets to know of the gateway. */
  readonly nodeMetadata: TextPairs;
  /** Sent with the request, for example a token. */
  readonly headers: TextPairs;
  readonly beforeLimits: BeforeLimits;
  /** Where the last good configuration is kept; undefined: nowhere. */
  readonly lastGood: string | undefined;
  readonly tls: ControlPlaneTls | undefined;
}

/**
 * Paths of files in PEM. Envoy Gateway 1.9.1 mounts /certs/{ca.crt,tls.crt,tls.key}
 * (internal/infrastructure/kubernetes/ratelimit/resource.go), and wants TLS 1.3 and a certificate of the client
 * (internal/crypto/cert_load.go).
 */
export interface ControlPlaneTls {
  /** Undefined: the authorities that Node trusts. */
  readonly ca?: string | undefined;
  /** Of the client, with its key. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** The name in the certificate of the control plane; undefined: its host. */
  readonly serverName?: string | undefined;
}

/** The largest message that a control plane may send. */
export const LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024;

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
  controlPlane: setting({
    name: 'HEADGATE_RATELIMIT_CONTROL_PLANE',
    topic: 'rateLimit',
    meaning:
      'Address of a control plane, such as Envoy Gateway, that sends the limits over xDS. It replaces `HEADGATE_RATELIMIT_CONFIG`.',
    expected: 'host:port',
    schema: target,
    fallback: undefined,
    fallbackWords: 'none',
  }),
  controlPlaneNode: setting({
    name: 'HEADGATE_RATELIMIT_NODE',
    topic: 'rateLimit',
    meaning: 'The node id by which the control plane knows the gateway.',
    expected: 'a text',
    schema: z.string(),
    fallback: 'default',
  }),
  controlPlaneNodeMetadata: setting({
    name: 'HEADGATE_RATELIMIT_NODE_METADATA',
    topic: 'rateLimit',
    meaning:
      'What the control plane gets to know of the gateway besides the node id, such as `zone=a,team=shop`.',
    expected: METADATA_FORM,
    schema: z.string().transform(holds(parseMetadata)),
    fallback: {},
    fallbackWords: 'none',
  }),
  controlPlaneHeaders: setting({
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
  controlPlaneLastGood: path(
    'HEADGATE_RATELIMIT_LAST_GOOD',
    'File in which the last limits of the control plane are kept, so that a gateway can start without it.',
  ),
  controlPlaneTls: switchSetting({
    name: 'HEADGATE_RATELIMIT_CONTROL_PLANE_TLS',
    topic: 'rateLimit',
    meaning: 'Whether the connection to the control plane uses TLS.',
    fallback: false,
  }),
  controlPlaneCa: path(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_CA',
    'File with the certificates of the authorities that the control plane must have its certificate from.',
  ),
  controlPlaneCertificate: path(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_CERT',
    'File with the certificate that the gateway shows to the control plane.',
  ),
  controlPlaneKey: path(
    'HEADGATE_RATELIMIT_CONTROL_PLANE_KEY',
    'File with the key of that certificate.',
  ),
  controlPlaneServerName: setting({
    name: 'HEADGATE_RATELIMIT_CONTROL_PLANE_NAME',
    topic: 'rateLimit',
    meaning: 'The name that the certificate of the control plane must have.',
    expected: 'a name',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: 'its host',
  }),
};

/** Undefined without a control plane. */
export function readControlPlane(read: ReadSetting): ControlPlaneSettings | undefined {
  const place = read(CONTROL_PLANE_SETTINGS.controlPlane);
  const settings = {
    node: read(CONTROL_PLANE_SETTINGS.controlPlaneNode),
    nodeMetadata: read(CONTROL_PLANE_SETTINGS.controlPlaneNodeMetadata),
    headers: read(CONTROL_PLANE_SETTINGS.controlPlaneHeaders),
    beforeLimits: read(CONTROL_PLANE_SETTINGS.beforeLimits),
    lastGood: read(CONTROL_PLANE_SETTINGS.controlPlaneLastGood),
  };
  const isSecured = read(CONTROL_PLANE_SETTINGS.controlPlaneTls);
  const tls = {
    ca: read(CONTROL_PLANE_SETTINGS.controlPlaneCa),
    certificate: read(CONTROL_PLANE_SETTINGS.controlPlaneCertificate),
    key: read(CONTROL_PLANE_SETTINGS.controlPlaneKey),
    serverName: read(CONTROL_PLANE_SETTINGS.controlPlaneServerName),
  };
  return place && { ...place, ...settings, tls: isSecured ? tls : undefined };
}
