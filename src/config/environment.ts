/** The settings of the process. Nothing else reads the environment. */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { RedisTarget } from '../core/redis-target.ts';
import { hint } from './closest-word.ts';
import { SHIPPED_RANGES } from './cloudflare-ranges.ts';
import { ConfigError } from './config-error.ts';
import { parseRedisUrl } from './redis-url.ts';

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
  /** What the salts of addresses are derived from. None: they are random, and shared through Redis. */
  readonly ipSaltSecret: string | undefined;
  readonly logLevel: LogLevel;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const DEFAULT_POLICIES = fileURLToPath(new URL('../../config/policies.yaml', import.meta.url));

/** Throws a ConfigError that names every unreadable variable; values with secrets in them are not repeated. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const mistakes: string[] = [];
  const known = new Set(['HEADGATE_REDIS_URL']);

  function read<T, F>(name: string, schema: z.ZodType<T>, expected: string, fallback: F): T | F {
    known.add(name);
    const text = variables[name];
    if (text === undefined || text === '' || isServiceLink(text)) return fallback;
    const result = schema.safeParse(text);
    if (result.success) return result.data;
    mistakes.push(`${name}: must be ${expected}, not ${JSON.stringify(text)}`);
    return fallback;
  }

  /** Values of secrets are not repeated. */
  function readSecret<T>(name: string, schema: z.ZodType<T>, expected: string): T | undefined {
    known.add(name);
    const text = variables[name];
    if (text === undefined || text === '') return undefined;
    const result = schema.safeParse(text);
    if (result.success) return result.data;
    mistakes.push(`${name}: must be ${expected}`);
    return undefined;
  }

  const environment: Environment = {
    host: read('HEADGATE_HOST', z.string(), 'a host', '127.0.0.1'),
    port: read('HEADGATE_PORT', port, 'a port from 0 to 65535', 8080),
    socket: read(
      'HEADGATE_LISTEN',
      unixSocket,
      'unix: and a path; for an address, set HEADGATE_HOST and HEADGATE_PORT',
      undefined,
    ),
    grpcPort: read(
      'HEADGATE_GRPC_PORT',
      portOrOff,
      'a port from 0 to 65535, or off',
      // Who chose a socket does not expect a port that everybody on the machine can reach.
      variables.HEADGATE_LISTEN ? undefined : 8081,
    ),
    opsHost: read('HEADGATE_OPS_HOST', z.string(), 'a host', '127.0.0.1'),
    opsPort: read('HEADGATE_OPS_PORT', port, 'a port from 0 to 65535', 9464),
    policies: read('HEADGATE_POLICIES', z.string(), 'a path', DEFAULT_POLICIES),
    cloudflareRanges: read('HEADGATE_CLOUDFLARE_RANGES', z.string(), 'a path', SHIPPED_RANGES),
    redis: readRedis(variables, mistakes),
    storeTimeoutMs: read(
      'HEADGATE_STORE_TIMEOUT_MS',
      wholeNumber(1, 10_000),
      'milliseconds from 1 to 10000',
      50,
    ),
    memoryMaxKeys: read(
      'HEADGATE_MEMORY_MAX_KEYS',
      wholeNumber(1_000, 10_000_000),
      'a number from 1000 to 10000000',
      1_000_000,
    ),
    replicas: read('HEADGATE_REPLICAS', wholeNumber(1, 1_000), 'a number from 1 to 1000', 1),
    workers: read('HEADGATE_WORKERS', wholeNumber(1, 256), 'a number from 1 to 256', 1),
    worker: read('HEADGATE_WORKER', wholeNumber(0, 255), 'what a supervisor sets', undefined),
    drainMs: read(
      'HEADGATE_DRAIN_MS',
      wholeNumber(0, 600_000),
      'milliseconds from 0 to 600000',
      5_000,
    ),
    rememberedDenials: read(
      'HEADGATE_REMEMBERED_DENIALS',
      wholeNumber(0, 1_000_000),
      'a number from 0 to 1000000',
      10_000,
    ),
    proxySecrets:
      readSecret(
        'HEADGATE_PROXY_SECRET',
        secretList,
        'at least 16 letters, digits or marks, without spaces; several are separated by commas',
      ) ?? [],
    ipSaltSecret: readSecret(
      'HEADGATE_IP_SALT_SECRET',
      z.string().min(32),
      'at least 32 characters',
    ),
    logLevel: read(
      'HEADGATE_LOG_LEVEL',
      z.enum(LOG_LEVELS),
      `one of ${LOG_LEVELS.join(', ')}`,
      'info',
    ),
  };
  if (environment.workers > 1 && environment.redis === undefined)
    mistakes.push(workersWithoutRedis);
  mistakes.push(...misspelled(variables, [...known]));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return environment;
}

/** Asking one process about every request would cost more than a decision does. */
const workersWithoutRedis =
  'HEADGATE_WORKERS: several need HEADGATE_REDIS_URL; in memory each would count by itself, and clients get every limit several times';

/** A setting that is misspelled would silently not be one. Kubernetes has names of its own that begin like ours. */
function misspelled(variables: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  return Object.keys(variables).flatMap((name) => {
    if (!name.startsWith('HEADGATE_') || known.includes(name)) return [];
    if (/_(SERVICE_HOST|SERVICE_PORT.*|PORT_.*)$/.test(name)) return [];
    const meant = hint(name, known);
    return meant === '' ? [] : [`${name}: is no setting${meant}`];
  });
}

function wholeNumber(least: number, most: number) {
  return z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(least).max(most));
}

/** Characters that a header value keeps through every proxy. */
const secretList = z
  .string()
  .regex(/^[!-+\--~]{16,256}(,[!-+\--~]{16,256})*$/)
  .transform((text) => text.split(','));

const port = wholeNumber(0, 65_535);

const portOrOff = z.union([z.literal('off').transform(() => undefined), port]);

const unixSocket = z
  .string()
  .regex(/^unix:./)
  .transform((text) => text.slice('unix:'.length));

/** Kubernetes sets HEADGATE_PORT=tcp://10.0.0.1:8080 in every pod beside a Service called headgate. */
function isServiceLink(text: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(text);
}

function readRedis(variables: NodeJS.ProcessEnv, mistakes: string[]): RedisTarget | undefined {
  const name = variables.HEADGATE_REDIS_URL ? 'HEADGATE_REDIS_URL' : 'REDIS_URL';
  const text = variables[name];
  if (text === undefined || text === '') return undefined;
  try {
    return parseRedisUrl(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    mistakes.push(`${name}: ${error.message}`);
    return undefined;
  }
}
