/** Reads the settings of Envoy's rate limit service. */
import { readControlPlane } from './control-plane-settings.ts';
import { RATE_LIMIT_SETTINGS, type RateLimitSettings } from './rate-limit-settings.ts';
import type { ReadSetting } from './setting.ts';

/** Undefined without files and without a control plane. */
export function readRateLimit(read: ReadSetting): RateLimitSettings | undefined {
  const config = read(RATE_LIMIT_SETTINGS.rateLimitConfig);
  const settings = {
    httpPort: read(RATE_LIMIT_SETTINGS.rateLimitHttpPort),
    httpHost: read(RATE_LIMIT_SETTINGS.rateLimitHttpHost),
    windows: read(RATE_LIMIT_SETTINGS.rateLimitWindows),
    mergesDomains: read(RATE_LIMIT_SETTINGS.rateLimitMergesDomains),
    headers: read(RATE_LIMIT_SETTINGS.rateLimitHeaders),
    hasBody: read(RATE_LIMIT_SETTINGS.rateLimitBody),
    hasMetadata: read(RATE_LIMIT_SETTINGS.rateLimitMetadata),
    isShadow: read(RATE_LIMIT_SETTINGS.rateLimitShadow),
    isQuota: read(RATE_LIMIT_SETTINGS.rateLimitQuota),
  };
  const controlPlane = readControlPlane(read);
  if (controlPlane !== undefined) return { ...settings, config: undefined, controlPlane };
  return config === undefined ? undefined : { ...settings, config, controlPlane: undefined };
}

const WITHOUT_GRPC =
  "HEADGATE_GRPC_PORT: Envoy's rate limit filter asks over gRPC, so set a port, or unset HEADGATE_RATELIMIT_CONFIG and HEADGATE_RATELIMIT_CONTROL_PLANE";
const TWO_CONFIGURATIONS =
  'HEADGATE_RATELIMIT_CONFIG: is not used with HEADGATE_RATELIMIT_CONTROL_PLANE, unset one of them';

interface GrpcUse {
  readonly rateLimit: RateLimitSettings | undefined;
  readonly grpcPort: number | undefined;
}

export function rateLimitMistakes(
  { rateLimit, grpcPort }: GrpcUse,
  variables: NodeJS.ProcessEnv,
): string[] {
  const { HEADGATE_RATELIMIT_CONFIG: config, HEADGATE_RATELIMIT_CONTROL_PLANE: plane } = variables;
  return [
    ...(rateLimit !== undefined && grpcPort === undefined ? [WITHOUT_GRPC] : []),
    ...(config && plane ? [TWO_CONFIGURATIONS] : []),
  ];
}
