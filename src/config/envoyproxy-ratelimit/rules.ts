/** Where envoyproxy/ratelimit finds its limits: a folder, or a control plane. */
import { join } from 'node:path';
import { parseTarget } from '../settings/target.ts';
import { type Given, isTrue, type Mapped } from './variable.ts';

export function rulesOf(given: Given): Mapped {
  const type = given.CONFIG_TYPE || 'FILE';
  const merges = isTrue(given.MERGE_DOMAIN_CONFIG) && { HEADGATE_RATELIMIT_MERGE_DOMAINS: 'on' };
  // headgate's own setting wins, also over the other kind.
  if (given.HEADGATE_RATELIMIT_CONFIG || given.HEADGATE_RATELIMIT_CONTROL_PLANE) {
    return { settings: { ...merges } };
  }
  if (type === 'GRPC_XDS_SOTW') {
    const settings = { ...controlPlaneOf(given), ...merges };
    return { settings, mistakes: addressMistakes(given) };
  }
  if (type !== 'FILE') {
    return {
      mistakes: [`CONFIG_TYPE: must be FILE or GRPC_XDS_SOTW, not ${JSON.stringify(type)}`],
    };
  }
  const root = given.RUNTIME_ROOT || '/srv/runtime_data/current';
  const folder = join(
    root,
    given.RUNTIME_SUBDIRECTORY ?? '',
    given.RUNTIME_APPDIRECTORY || 'config',
  );
  return {
    settings: {
      HEADGATE_RATELIMIT_CONFIG: folder,
      ...merges,
    },
  };
}

function controlPlaneOf(given: Given): Record<string, string> {
  return {
    HEADGATE_RATELIMIT_CONTROL_PLANE: addressOf(given),
    HEADGATE_RATELIMIT_NODE: given.CONFIG_GRPC_XDS_NODE_ID || 'default',
    ...(isTrue(given.CONFIG_GRPC_XDS_SERVER_USE_TLS) && {
      HEADGATE_RATELIMIT_CONTROL_PLANE_TLS: 'on',
      HEADGATE_RATELIMIT_CONTROL_PLANE_CA: given.CONFIG_GRPC_XDS_SERVER_TLS_CACERT ?? '',
      HEADGATE_RATELIMIT_CONTROL_PLANE_CERT: given.CONFIG_GRPC_XDS_CLIENT_TLS_CERT ?? '',
      HEADGATE_RATELIMIT_CONTROL_PLANE_KEY: given.CONFIG_GRPC_XDS_CLIENT_TLS_KEY ?? '',
      HEADGATE_RATELIMIT_CONTROL_PLANE_NAME: given.CONFIG_GRPC_XDS_SERVER_TLS_SAN ?? '',
    }),
  };
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
