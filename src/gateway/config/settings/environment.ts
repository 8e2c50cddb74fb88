/** Reads the settings of the process. No other file reads the environment. */
import type { z } from 'zod';
import { canonicalAddress, isLoopback } from '../../core/identity/address.ts';
import { hint } from '../closest-word.ts';
import { ConfigError } from '../config-error.ts';
import { type GrpcTls, grpcTlsMistakes, readGrpcTls } from './grpc-tls-settings.ts';
import type { RateLimitSettings } from './rate-limit-settings.ts';
import { rateLimitMistakes, readRateLimit } from './read-rate-limit.ts';
import type { RedisTarget } from './redis-target.ts';
import { redisTlsMistakes, withTlsFiles } from './redis-tls-settings.ts';
import { isServiceLink, type ReadSetting, type Setting } from './setting.ts';
import { type LogLevel, SETTINGS } from './settings.ts';

export interface Environment {
  readonly host: string;
  /** Undefined: no check server. */
  readonly port: number | undefined;
  /** Path of a unix socket for proxies, in place of host and port. */
  readonly socket: string | undefined;
  /** Undefined: no gRPC server. */
  readonly grpcPort: number | undefined;
  /** Undefined: the gRPC port has no TLS. */
  readonly grpcTls: GrpcTls | undefined;
  readonly opsHost: string;
  readonly opsPort: number;
  /** Whether the ops server has a page. */
  readonly ui: boolean;
  /** Path of the policy file. */
  readonly policies: string;
  /** Path of the list of Cloudflare networks. */
  readonly cloudflareRanges: string;
  /** Undefined: count in memory. */
  readonly redis: RedisTarget | undefined;
  /** Maximum time that a request waits for the store. */
  readonly storeTimeoutMs: number;
  /** Maximum number of keys in the memory store. */
  readonly memoryMaxKeys: number;
  /** Gateways that share a limit while Redis is down, until Redis has reported their number. */
  readonly replicas: number;
  /** Number of worker processes. */
  readonly workers: number;
  /** Number of this worker, from 0; undefined in a process without a supervisor. */
  readonly worker: number | undefined;
  /** How long the process continues to answer after SIGTERM. */
  readonly drainMs: number;
  /** Maximum number of cached denials; 0 disables the cache. */
  readonly rememberedDenials: number;
  /** Secrets that proxies may send; several while one is being replaced. Empty: no secret is required. */
  readonly proxySecrets: readonly string[];
  /** Bearer token of operators. Undefined: the ops server is on loopback. */
  readonly adminToken: string | undefined;
  /** Address salts are derived from it. Undefined: they are random and shared through Redis. */
  readonly ipSaltSecret: string | undefined;
  readonly logLevel: LogLevel;
  /** Undefined: no spans are recorded. */
  readonly tracing: TracingSettings | undefined;
  /** Undefined: calls of Envoy's rate limit filter are not answered. */
  readonly rateLimit: RateLimitSettings | undefined;
}

/** Checked when spans are recorded, see tracing-settings.ts. */
export interface TracingSettings {
  readonly protocol: string;
  readonly sampler: string;
  readonly samplerArgument: string;
}

/** Throws a ConfigError with every mistake. Values of secrets are not quoted. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const mistakes: string[] = [];
  const read: ReadSetting = (setting) => readSetting(setting, variables, mistakes);

  const hasCollector = read(SETTINGS.otlpEndpoint) !== undefined;
  const isTraced = !read(SETTINGS.tracingDisabled) && hasCollector;
  const tracing: TracingSettings = {
    protocol: read(SETTINGS.otlpProtocol),
    sampler: read(SETTINGS.tracesSampler),
    samplerArgument: read(SETTINGS.tracesSamplerArgument),
  };
  const environment: Environment = {
    host: read(SETTINGS.host),
    port: read(SETTINGS.port),
    socket: read(SETTINGS.socket),
    grpcPort: read(
      // With a unix socket, an open TCP port that every local user can reach would be a surprise.
      variables.HEADGATE_LISTEN ? { ...SETTINGS.grpcPort, fallback: undefined } : SETTINGS.grpcPort,
    ),
    grpcTls: readGrpcTls(read),
    opsHost: read(SETTINGS.opsHost),
    opsPort: read(SETTINGS.opsPort),
    ui: read(SETTINGS.ui),
    policies: read(SETTINGS.policies),
    cloudflareRanges: read(SETTINGS.cloudflareRanges),
    redis: withTlsFiles(read(SETTINGS.redis), read),
    storeTimeoutMs: read(SETTINGS.storeTimeoutMs),
    memoryMaxKeys: read(SETTINGS.memoryMaxKeys),
    replicas: read(SETTINGS.replicas),
    workers: read(SETTINGS.workers),
    worker: read(SETTINGS.worker),
    drainMs: read(SETTINGS.drainMs),
    rememberedDenials: read(SETTINGS.rememberedDenials),
    proxySecrets: read(SETTINGS.proxySecrets),
    adminToken: read(SETTINGS.adminToken),
    ipSaltSecret: read(SETTINGS.ipSaltSecret),
    logLevel: read(SETTINGS.logLevel),
    tracing: isTraced ? tracing : undefined,
    rateLimit: readRateLimit(read),
  };
  mistakes.push(...combinedMistakes(environment, variables), ...misspelled(variables));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return environment;
}

/** Adds to `mistakes` if the value is invalid. */
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

const WORKERS_WITHOUT_REDIS =
  'HEADGATE_WORKERS: several workers need HEADGATE_REDIS_URL, because without Redis each worker counts by itself and admits the whole limit';

const NO_PORTS =
  'HEADGATE_PORT: no proxy can ask a gateway that has neither HEADGATE_PORT, HEADGATE_LISTEN nor HEADGATE_GRPC_PORT';

/** Mistakes that only several settings together show. */
function combinedMistakes(environment: Environment, variables: NodeJS.ProcessEnv): string[] {
  const { workers, redis, opsHost, port, socket, grpcPort } = environment;
  const isDeaf = port === undefined && socket === undefined && grpcPort === undefined;
  // An invalid token is reported already.
  const isOpen = !variables.HEADGATE_ADMIN_TOKEN && !isLocalHost(opsHost);
  return [
    ...(workers > 1 && redis === undefined ? [WORKERS_WITHOUT_REDIS] : []),
    ...(isOpen ? [openToOthers(opsHost)] : []),
    ...(isDeaf ? [NO_PORTS] : []),
    ...rateLimitMistakes(environment, variables),
    ...grpcTlsMistakes(variables),
    ...redisTlsMistakes(environment, variables),
  ];
}

/** False for names other than `localhost`, which may resolve to any address. */
function isLocalHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(host) ?? '');
}

function openToOthers(opsHost: string): string {
  return `HEADGATE_OPS_HOST: other machines can reach ${JSON.stringify(opsHost)} and control the gateway; set HEADGATE_ADMIN_TOKEN (at least 16 characters), or use a loopback address such as 127.0.0.1`;
}

/** A misspelled setting would be ignored silently. Other variables with our prefix are allowed: Kubernetes sets some. */
function misspelled(variables: NodeJS.ProcessEnv): string[] {
  const known = Object.values(SETTINGS).map(({ name }) => name);
  return Object.keys(variables).flatMap((name) => {
    if (!name.startsWith('HEADGATE_') || known.includes(name)) return [];
    if (/_(SERVICE_HOST|SERVICE_PORT.*|PORT_.*)$/.test(name)) return [];
    const meant = hint(name, known);
    return meant === '' ? [] : [`${name}: is not a setting${meant}`];
  });
}
