/** No other file reads the environment. */
import type { z } from 'zod';
import { hint } from '../closest-word.ts';
import { ConfigError } from '../diagnostic.ts';
import { combinedMistakes } from './combined-mistakes.ts';
import type { Target } from './control-plane-forms.ts';
import { GRPC_TLS_SETTINGS, OPS_PORT_SETTINGS, PROXY_PORT_SETTINGS } from './port-settings.ts';
import { CONTROL_PLANE_SETTINGS, RATE_LIMIT_SETTINGS } from './rate-limit-settings.ts';
import type { RedisTarget } from './redis-url.ts';
import { type ReadSetting, readGroup, type Setting, type ValuesOf } from './setting.ts';
import {
  COUNTING_SETTINGS,
  FILE_SETTINGS,
  PROCESS_SETTINGS,
  REDIS_SETTINGS,
  SECRET_SETTINGS,
  SETTINGS,
  TRACING_SETTINGS,
} from './settings.ts';
import { SETTLEMENT_SETTINGS } from './settlement-settings.ts';

export interface Environment
  extends ValuesOf<typeof PROXY_PORT_SETTINGS>,
    ValuesOf<typeof OPS_PORT_SETTINGS>,
    ValuesOf<typeof SECRET_SETTINGS>,
    ValuesOf<typeof FILE_SETTINGS>,
    ValuesOf<typeof COUNTING_SETTINGS>,
    ValuesOf<typeof SETTLEMENT_SETTINGS>,
    ValuesOf<typeof PROCESS_SETTINGS> {
  readonly grpcTls: GrpcTls | undefined;
  /** Without it, a gateway counts in memory. */
  readonly redis: RedisTarget | undefined;
  readonly tracing: TracingSettings | undefined;
  /** Without it, calls of Envoy's rate limit filter are not answered. */
  readonly rateLimit: RateLimitSettings | undefined;
}

/** Paths of files, and the name in the certificate of a caller. */
export interface GrpcTls extends ValuesOf<typeof GRPC_TLS_SETTINGS> {
  readonly certificate: string;
  readonly key: string;
}

/** Checked when spans are recorded. */
export type TracingSettings = Omit<ValuesOf<typeof TRACING_SETTINGS>, 'endpoint' | 'isDisabled'>;

/** Either the files or the control plane is set. */
export interface RateLimitSettings extends ValuesOf<typeof RATE_LIMIT_SETTINGS> {
  readonly controlPlane: ControlPlaneSettings | undefined;
}

export type HeaderNames = NonNullable<RateLimitSettings['headers']>;

type ControlPlaneValues = ValuesOf<typeof CONTROL_PLANE_SETTINGS>;
type TlsKey = 'ca' | 'certificate' | 'key' | 'serverName';

export interface ControlPlaneSettings
  extends Target,
    Omit<ControlPlaneValues, 'target' | 'hasTls' | TlsKey> {
  readonly tls: ControlPlaneTls | undefined;
}

/**
 * Paths of files in PEM. Envoy Gateway 1.9.1 mounts /certs/{ca.crt,tls.crt,tls.key}, and wants TLS 1.3 and a certificate of
 * the client (internal/infrastructure/kubernetes/ratelimit/resource.go, internal/crypto/cert_load.go).
 */
export type ControlPlaneTls = Partial<Pick<ControlPlaneValues, TlsKey>>;

/** Throws a ConfigError with every mistake. Values of secrets are not quoted. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const mistakes: string[] = [];
  const read: ReadSetting = (setting) => readSetting(setting, variables, mistakes);
  const environment: Environment = {
    tracing: readTracing(read),
    ...readGroup(proxyPorts(variables), read),
    grpcTls: readGrpcTls(read),
    ...readGroup(OPS_PORT_SETTINGS, read),
    ...readGroup(SECRET_SETTINGS, read),
    ...readGroup(FILE_SETTINGS, read),
    redis: readRedis(read),
    ...readGroup(COUNTING_SETTINGS, read),
    ...readGroup(SETTLEMENT_SETTINGS, read),
    ...readGroup(PROCESS_SETTINGS, read),
    rateLimit: readRateLimit(read),
  };
  mistakes.push(...combinedMistakes(environment, variables), ...misspelled(variables));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return environment;
}

/** With a unix socket, an open TCP port that every local user can reach would be a surprise. */
function proxyPorts({ HEADGATE_LISTEN: socket }: NodeJS.ProcessEnv) {
  if (!socket) return PROXY_PORT_SETTINGS;
  return {
    ...PROXY_PORT_SETTINGS,
    grpcPort: { ...PROXY_PORT_SETTINGS.grpcPort, fallback: undefined },
  };
}

function readTracing(read: ReadSetting): TracingSettings | undefined {
  const { endpoint, isDisabled, ...tracing } = readGroup(TRACING_SETTINGS, read);
  return endpoint === undefined || isDisabled ? undefined : tracing;
}

function readGrpcTls(read: ReadSetting): GrpcTls | undefined {
  const { certificate, key, ...client } = readGroup(GRPC_TLS_SETTINGS, read);
  if (certificate === undefined || key === undefined) return undefined;
  return { certificate, key, ...client };
}

function readRedis(read: ReadSetting): RedisTarget | undefined {
  const { target, ...tlsFiles } = readGroup(REDIS_SETTINGS, read);
  const isNeeded = Object.values(tlsFiles).some((path) => path !== undefined);
  return target !== undefined && isNeeded ? { ...target, tlsFiles } : target;
}

function readRateLimit(read: ReadSetting): RateLimitSettings | undefined {
  const settings = readGroup(RATE_LIMIT_SETTINGS, read);
  const controlPlane = readControlPlane(read);
  if (controlPlane !== undefined) return { ...settings, config: undefined, controlPlane };
  return settings.config === undefined ? undefined : { ...settings, controlPlane };
}

function readControlPlane(read: ReadSetting): ControlPlaneSettings | undefined {
  const values = readGroup(CONTROL_PLANE_SETTINGS, read);
  const { target, hasTls, ca, certificate, key, serverName, ...settings } = values;
  const tls = hasTls ? { ca, certificate, key, serverName } : undefined;
  return target && { ...target, ...settings, tls };
}

function readSetting<T, F>(
  setting: Setting<T, F>,
  variables: NodeJS.ProcessEnv,
  mistakes: string[],
): T | F {
  const { name, otherName = name, schema, fallback, isSecret = false } = setting;
  const found = variables[name] ? name : otherName;
  const text = variables[found];
  // Never ignore a secret as a service link: without the secret, every caller would be let in.
  if (text === undefined || text === '' || (!isSecret && isServiceLink(text))) return fallback;
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  const wrong = messageOf(setting, result.error);
  mistakes.push(`${found}: ${wrong}${isSecret ? '' : `, not ${JSON.stringify(text)}`}`);
  return fallback;
}

function messageOf({ expected }: Setting, { issues: [issue] }: z.ZodError): string {
  return issue?.code === 'custom' ? issue.message : `must be ${expected}`;
}

/** Kubernetes sets HEADGATE_PORT=tcp://10.0.0.1:8080 in every pod if there is a Service called headgate. */
export function isServiceLink(text: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(text);
}

/** A misspelled setting would be ignored silently. Other variables with our prefix are allowed: Kubernetes sets some. */
function misspelled(variables: NodeJS.ProcessEnv): string[] {
  const known = SETTINGS.map(({ name }) => name);
  return Object.keys(variables).flatMap((name) => {
    if (!name.startsWith('HEADGATE_') || known.includes(name)) return [];
    if (/_(SERVICE_HOST|SERVICE_PORT.*|PORT_.*)$/.test(name)) return [];
    const meant = hint(name, known);
    return meant === '' ? [] : [`${name}: is not a setting${meant}`];
  });
}
