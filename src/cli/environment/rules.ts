/** Where envoyproxy/ratelimit finds its limits: a folder, or a control plane. */
import { join } from 'node:path';
import { parseHeaders, parseTarget } from '../../gateway/config/settings/control-plane-forms.ts';
import type { ControlPlaneSettings } from '../../gateway/config/settings/environment.ts';
import { type Given, isTrue, type Mapped, textsThatHold } from './variable.ts';

export function rulesOf(given: Given): Mapped {
  const type = given.CONFIG_TYPE || 'FILE';
  const merges = isTrue(given.MERGE_DOMAIN_CONFIG) && { HEADGATE_RATELIMIT_MERGE_DOMAINS: 'on' };
  // headgate's own setting wins, also over the other kind.
  if (given.HEADGATE_RATELIMIT_CONFIG || given.HEADGATE_RATELIMIT_CONTROL_PLANE) {
    return { settings: { ...merges } };
  }
  if (type === 'GRPC_XDS_SOTW') {
    return {
      settings: { ...controlPlaneOf(given), ...merges },
      notes: metadataNotes(given),
      mistakes: [...addressMistakes(given), ...headerMistakes(given)],
    };
  }
  if (type !== 'FILE') {
    const mistake = `CONFIG_TYPE: must be FILE or GRPC_XDS_SOTW, not ${JSON.stringify(type)}`;
    return { mistakes: [mistake] };
  }
  const root = given.RUNTIME_ROOT || '/srv/runtime_data/current';
  const appFolder = given.RUNTIME_APPDIRECTORY || 'config';
  const folder = join(root, given.RUNTIME_SUBDIRECTORY ?? '', appFolder);
  return {
    settings: { HEADGATE_RATELIMIT_CONFIG: folder, ...merges },
    notes: textsThatHold({
      'FORCE_START_WITHOUT_INITIAL_CONFIG has no effect: headgate starts only if the files have no mistakes':
        isTrue(given.FORCE_START_WITHOUT_INITIAL_CONFIG),
    }),
  };
}

function controlPlaneOf(given: Given): Record<string, string> {
  const headers = given.CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS;
  const metadata = metadataOf(given).filter(isPair).join(',');
  return {
    HEADGATE_RATELIMIT_CONTROL_PLANE: addressOf(given),
    HEADGATE_RATELIMIT_NODE: given.CONFIG_GRPC_XDS_NODE_ID || 'default',
    HEADGATE_RATELIMIT_BEFORE_LIMITS: beforeLimits(given),
    ...(metadata && { HEADGATE_RATELIMIT_NODE_METADATA: metadata }),
    ...(headers && { HEADGATE_RATELIMIT_CONTROL_PLANE_HEADERS: headers }),
    ...(isTrue(given.CONFIG_GRPC_XDS_SERVER_USE_TLS) && {
      HEADGATE_RATELIMIT_CONTROL_PLANE_TLS: 'on',
      HEADGATE_RATELIMIT_CONTROL_PLANE_CA: given.CONFIG_GRPC_XDS_SERVER_TLS_CACERT ?? '',
      HEADGATE_RATELIMIT_CONTROL_PLANE_CERT: given.CONFIG_GRPC_XDS_CLIENT_TLS_CERT ?? '',
      HEADGATE_RATELIMIT_CONTROL_PLANE_KEY: given.CONFIG_GRPC_XDS_CLIENT_TLS_KEY ?? '',
      HEADGATE_RATELIMIT_CONTROL_PLANE_NAME: given.CONFIG_GRPC_XDS_SERVER_TLS_SAN ?? '',
    }),
  };
}

/**
 * A forced start is healthy at once, unless health needs limits; its calls fail until limits have come (src/service/
 * ratelimit.go, NewService and constructLimitsToCheck; src/server/health.go). Without it, no port is open until then.
 */
function beforeLimits({
  FORCE_START_WITHOUT_INITIAL_CONFIG: isForced,
  HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: needsLimits,
}: Given): ControlPlaneSettings['beforeLimits'] {
  return isTrue(isForced) && !isTrue(needsLimits) ? 'fail' : 'unhealthy';
}

function metadataOf({ CONFIG_GRPC_XDS_NODE_METADATA: metadata }: Given): string[] {
  return metadata ? metadata.split(',') : [];
}

function isPair(text: string): boolean {
  return /^\s*[^\s=].*=/.test(text);
}

/** Theirs skips them without a word (src/provider/xds_grpc_sotw_provider.go, getClientNode). */
function metadataNotes(given: Given): string[] {
  const skipped = metadataOf(given).filter((each) => !isPair(each));
  if (skipped.length === 0) return [];
  const listed = skipped.map((each) => JSON.stringify(each)).join(', ');
  return [`CONFIG_GRPC_XDS_NODE_METADATA: not sent, because it is no key=value: ${listed}`];
}

/** Headers may hold a token, so they are not quoted. */
function headerMistakes({ CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: headers }: Given): string[] {
  try {
    if (headers) parseHeaders(headers);
    return [];
  } catch (error) {
    return [`CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: ${(error as RangeError).message}`];
  }
}

/** gRPC of Go also takes `dns:///host:port`, which is the same. */
function addressOf({ CONFIG_GRPC_XDS_SERVER_URL: address }: Given): string {
  return address?.replace(/^dns:\/{3}/, '') || 'localhost:18000';
}

function addressMistakes(given: Given): string[] {
  try {
    parseTarget(addressOf(given));
    return [];
  } catch {
    const written = JSON.stringify(given.CONFIG_GRPC_XDS_SERVER_URL);
    return [`CONFIG_GRPC_XDS_SERVER_URL: must be host:port, not ${written}`];
  }
}
