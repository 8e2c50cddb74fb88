/** Reads the settings of the process. Nothing else reads the environment. */
import type { z } from 'zod';
import { canonicalAddress, isLoopback } from '../../core/address.ts';
import { hint } from '../closest-word.ts';
import { ConfigError } from '../config-error.ts';
import type { RedisTarget } from './redis-target.ts';
import { type LogLevel, SETTINGS, type Setting } from './settings.ts';

export interface Environment {
  readonly host: string;
  readonly port: number;
  /** Path of a unix socket where proxies ask instead. */
  readonly socket: string | undefined;
  /** Where Envoy asks over gRPC; nowhere if undefined. */
  readonly grpcPort: number | undefined;
  readonly opsHost: string;
  readonly opsPort: number;
  /** Path of the policy file. */
  readonly policies: string;
  /** Path of the list of Cloudflare's networks. */
  readonly cloudflareRanges: string;
  /** None: count in memory. */
  readonly redis: RedisTarget | undefined;
  /** How long a request waits for the store at most. */
  readonly storeTimeoutMs: number;
  /** Keys that the memory store holds at most. */
  readonly memoryMaxKeys: number;
  /** Gateways that share a limit while Redis is away, until Redis has said how many there are. */
  readonly replicas: number;
  /** Processes that answer proxies. */
  readonly workers: number;
  /** Which of them this is, from 0; undefined in a process that nobody supervises. */
  readonly worker: number | undefined;
  /** How long it goes on answering after SIGTERM. */
  readonly drainMs: number;
  /** Denials that are remembered at most; none are with 0. */
  readonly rememberedDenials: number;
  /** What proxies send to show that they are ours; several while one is being replaced. None: anybody may ask. */
  readonly proxySecrets: readonly string[];
  /** What operators show to ask and to change things. None: their port is on a loopback. */
  readonly adminToken: string | undefined;
  /** What the salts of addresses are derived from. None: they are random, and shared through Redis. */
  readonly ipSaltSecret: string | undefined;
  readonly logLevel: LogLevel;
}

/** Throws a ConfigError that names every unreadable variable; values with secrets in them are not repeated. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const mistakes: string[] = [];

  function read<T, F>(setting: Setting<T, F>): T | F {
    const { name, otherName = name, schema, fallback, isSecret = false } = setting;
    const found = variables[name] ? name : otherName;
    const text = variables[found];
    // A secret is never taken for what Kubernetes sets: without it anybody would get in.
    if (text === undefined || text === '' || (!isSecret && isServiceLink(text))) return fallback;
    const result = schema.safeParse(text);
    if (result.success) return result.data;
    const refused = refusalOf(setting, result.error);
    mistakes.push(`${found}: ${refused}${isSecret ? '' : `, not ${JSON.stringify(text)}`}`);
    return fallback;
  }

  const environment: Environment = {
    host: read(SETTINGS.host),
    port: read(SETTINGS.port),
    socket: read(SETTINGS.socket),
    grpcPort: read(
      // Who chose a socket does not expect a port that everybody on the machine can reach.
      variables.HEADGATE_LISTEN ? { ...SETTINGS.grpcPort, fallback: undefined } : SETTINGS.grpcPort,
    ),
    opsHost: read(SETTINGS.opsHost),
    opsPort: read(SETTINGS.opsPort),
    policies: read(SETTINGS.policies),
    cloudflareRanges: read(SETTINGS.cloudflareRanges),
    redis: read(SETTINGS.redis),
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
  };
  if (environment.workers > 1 && environment.redis === undefined)
    mistakes.push(workersWithoutRedis);
  // A token that is no good is a mistake of its own.
  if (!variables.HEADGATE_ADMIN_TOKEN && !staysOnThisMachine(environment.opsHost))
    mistakes.push(openToOthers(environment.opsHost));
  mistakes.push(...misspelled(variables));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return environment;
}

/** A check of our own says itself what is wrong. */
function refusalOf({ expected }: Setting, { issues: [issue] }: z.ZodError): string {
  return issue?.code === 'custom' ? issue.message : `must be ${expected}`;
}

/** Asking one process about every request would cost more than a decision does. */
const workersWithoutRedis =
  'HEADGATE_WORKERS: several need HEADGATE_REDIS_URL; in memory each would count by itself, and clients get every limit several times';

/** Of a name other than `localhost` nobody knows here where it leads. */
function staysOnThisMachine(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(host) ?? '');
}

function openToOthers(opsHost: string): string {
  return `HEADGATE_OPS_HOST: other machines can reach ${JSON.stringify(opsHost)}, and so steer the gateway; set HEADGATE_ADMIN_TOKEN, at least 16 characters, or keep to a loopback, such as 127.0.0.1`;
}

/** A setting that is misspelled would silently not be one. Kubernetes has names of its own that begin like ours. */
function misspelled(variables: NodeJS.ProcessEnv): string[] {
  const known = Object.values(SETTINGS).map(({ name }) => name);
  return Object.keys(variables).flatMap((name) => {
    if (!name.startsWith('HEADGATE_') || known.includes(name)) return [];
    if (/_(SERVICE_HOST|SERVICE_PORT.*|PORT_.*)$/.test(name)) return [];
    const meant = hint(name, known);
    return meant === '' ? [] : [`${name}: is no setting${meant}`];
  });
}

/** Kubernetes sets HEADGATE_PORT=tcp://10.0.0.1:8080 in every pod beside a Service called headgate. */
function isServiceLink(text: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(text);
}
