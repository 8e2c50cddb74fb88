/** Every setting of the process: the variable, what it is for, what it takes, and what holds without it. */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { HTTP_DIALECTS } from '../../dialects/index.ts';
import { SHIPPED_RANGES } from '../policy-file/cloudflare-ranges.ts';
import { holds } from '../refinement.ts';
import { parseRedisUrl, REDIS_URL_FORM } from './redis-url.ts';

/** What settings are about, in the order in which they are told of. */
export const TOPICS = {
  places: 'Where it answers',
  trust: 'Who may ask, and secrets',
  policies: 'What it reads',
  counts: 'Where it counts',
  process: 'The process',
} as const;

export interface Setting<T = unknown, F = unknown> {
  readonly name: string;
  /** A variable of others, which is read where this one is not set. */
  readonly otherName?: string;
  readonly topic: keyof typeof TOPICS;
  readonly meaning: string;
  /** What a value must be. */
  readonly expected: string;
  readonly schema: z.ZodType<T>;
  /** What holds where it is not set. */
  readonly fallback: F;
  /** The same for people, where the value does not say it. */
  readonly fallbackWords?: string;
  /** Its values are not repeated. */
  readonly isSecret?: boolean;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const SHIPPED_POLICIES = fileURLToPath(new URL('../../../config/policies.yaml', import.meta.url));

const port = wholeNumber(0, 65_535);

const portOrOff = z.union([z.literal('off').transform(() => undefined), port]);

const unixSocket = z
  .string()
  .regex(/^unix:./)
  .transform((text) => text.slice('unix:'.length));

/** Characters that a header value keeps through every proxy. */
const secretList = z
  .string()
  .regex(/^[!-+\--~]{16,256}(,[!-+\--~]{16,256})*$/)
  .transform((text) => text.split(','));

/** What RFC 6750 allows after `Bearer`. */
const bearerToken = z
  .string()
  .min(16)
  .max(256)
  .regex(/^[A-Za-z0-9._~+/-]+=*$/);

export const SETTINGS = {
  host: setting({
    name: 'HEADGATE_HOST',
    topic: 'places',
    meaning: `Where proxies send checks: ${HTTP_DIALECTS.map(({ mount }) => `\`${mount}\``).join(', ')}; Envoy appends the client's path. The image sets \`0.0.0.0\`.`,
    expected: 'a host',
    schema: z.string(),
    fallback: '127.0.0.1',
  }),
  port: setting({
    name: 'HEADGATE_PORT',
    topic: 'places',
    meaning: 'The port of these. With 0 the system chooses one.',
    expected: 'a port from 0 to 65535',
    schema: port,
    fallback: 8080,
  }),
  socket: setting({
    name: 'HEADGATE_LISTEN',
    topic: 'places',
    meaning:
      'A unix socket where proxies ask instead of at host and port. Its owner and group may connect.',
    expected: 'unix: and a path; for an address, set HEADGATE_HOST and HEADGATE_PORT',
    schema: unixSocket,
    fallback: undefined,
    fallbackWords: 'none',
  }),
  grpcPort: setting({
    name: 'HEADGATE_GRPC_PORT',
    topic: 'places',
    meaning: 'Where Envoy asks over gRPC, on `HEADGATE_HOST`; `off` for nowhere.',
    expected: 'a port from 0 to 65535, or off',
    schema: portOrOff,
    fallback: 8081,
    fallbackWords: '`8081`; with `HEADGATE_LISTEN` `off`',
  }),
  opsHost: setting({
    name: 'HEADGATE_OPS_HOST',
    topic: 'places',
    meaning:
      'Where operators ask: `/livez`, `/readyz`, `/metrics` (Prometheus). Any other than a loopback needs `HEADGATE_ADMIN_TOKEN`.',
    expected: 'a host',
    schema: z.string(),
    fallback: '127.0.0.1',
  }),
  opsPort: setting({
    name: 'HEADGATE_OPS_PORT',
    topic: 'places',
    meaning: 'The port of these.',
    expected: 'a port from 0 to 65535',
    schema: port,
    fallback: 9464,
  }),
  proxySecrets: setting({
    name: 'HEADGATE_PROXY_SECRET',
    topic: 'trust',
    meaning:
      'What proxies send as `X-Headgate-Secret`; who does not is answered 403. Several while one is being replaced.',
    expected:
      'at least 16 letters, digits or marks, without spaces; several are separated by commas',
    schema: secretList,
    fallback: [],
    fallbackWords: 'none: anybody may ask',
    isSecret: true,
  }),
  adminToken: setting({
    name: 'HEADGATE_ADMIN_TOKEN',
    topic: 'trust',
    meaning:
      'The bearer token that changes and questions of operators need at `HEADGATE_OPS_PORT`. `/livez`, `/readyz` and `/metrics` never need it. Without one, `HEADGATE_OPS_HOST` must be a loopback.',
    expected:
      'at least 16 letters, digits or any of "-._~+/", with "=" at the end only, 256 at most',
    schema: bearerToken,
    fallback: undefined,
    fallbackWords: 'none: on a loopback only',
    isSecret: true,
  }),
  ipSaltSecret: setting({
    name: 'HEADGATE_IP_SALT_SECRET',
    topic: 'trust',
    meaning:
      'What the keys of address hashes are derived from, so that gateways agree on them without Redis. Who has it can work out the keys of any day.',
    expected: 'at least 32 characters',
    schema: z.string().min(32),
    fallback: undefined,
    fallbackWords: 'none: random, and shared through Redis',
    isSecret: true,
  }),
  policies: setting({
    name: 'HEADGATE_POLICIES',
    topic: 'policies',
    meaning:
      'The policy file. It is read again when it changes, and on SIGHUP. `--policies FILE` comes first.',
    expected: 'a path',
    schema: z.string(),
    fallback: SHIPPED_POLICIES,
    fallbackWords: '`config/policies.yaml` of headgate',
  }),
  cloudflareRanges: setting({
    name: 'HEADGATE_CLOUDFLARE_RANGES',
    topic: 'policies',
    meaning: 'The list of the networks whose `CF-Connecting-IP` is believed.',
    expected: 'a path',
    schema: z.string(),
    fallback: SHIPPED_RANGES,
    fallbackWords: '`config/cloudflare-ranges.yaml` of headgate',
  }),
  redis: setting({
    name: 'HEADGATE_REDIS_URL',
    otherName: 'REDIS_URL',
    topic: 'counts',
    meaning:
      'The Redis that gateways count in together; `rediss` in place of `redis` is TLS. See [Redis](../README.md#redis).',
    expected: REDIS_URL_FORM,
    schema: z.string().transform(holds(parseRedisUrl)),
    fallback: undefined,
    fallbackWords: 'none: each process counts in its memory',
    // There may be a password in it.
    isSecret: true,
  }),
  storeTimeoutMs: setting({
    name: 'HEADGATE_STORE_TIMEOUT_MS',
    topic: 'counts',
    meaning: 'How long a request waits for Redis at most. Then `on_store_failure` decides.',
    expected: 'milliseconds from 1 to 10000',
    schema: wholeNumber(1, 10_000),
    fallback: 50,
  }),
  replicas: setting({
    name: 'HEADGATE_REPLICAS',
    topic: 'counts',
    meaning:
      'Gateways that share a limit while Redis is away, until Redis has said how many there are.',
    expected: 'a number from 1 to 1000',
    schema: wholeNumber(1, 1_000),
    fallback: 1,
  }),
  rememberedDenials: setting({
    name: 'HEADGATE_REMEMBERED_DENIALS',
    topic: 'counts',
    meaning: 'Clients whose denial is remembered at most; with 0, Redis is asked every time.',
    expected: 'a number from 0 to 1000000',
    schema: wholeNumber(0, 1_000_000),
    fallback: 10_000,
  }),
  memoryMaxKeys: setting({
    name: 'HEADGATE_MEMORY_MAX_KEYS',
    topic: 'counts',
    meaning: 'Keys that the memory store holds at most, about 650 bytes each.',
    expected: 'a number from 1000 to 10000000',
    schema: wholeNumber(1_000, 10_000_000),
    fallback: 1_000_000,
  }),
  workers: setting({
    name: 'HEADGATE_WORKERS',
    topic: 'process',
    meaning: 'Processes that answer proxies, behind one port. Several need Redis.',
    expected: 'a number from 1 to 256',
    schema: wholeNumber(1, 256),
    fallback: 1,
  }),
  worker: setting({
    name: 'HEADGATE_WORKER',
    topic: 'process',
    meaning: 'Which of them a process is. Do not set it.',
    expected: 'what a supervisor sets',
    schema: wholeNumber(0, 255),
    fallback: undefined,
    fallbackWords: 'none',
  }),
  drainMs: setting({
    name: 'HEADGATE_DRAIN_MS',
    topic: 'process',
    meaning: 'How long it goes on answering after SIGTERM, so that proxies notice.',
    expected: 'milliseconds from 0 to 600000',
    schema: wholeNumber(0, 600_000),
    fallback: 5_000,
  }),
  logLevel: setting({
    name: 'HEADGATE_LOG_LEVEL',
    topic: 'process',
    meaning: 'The least that is logged.',
    expected: `one of ${LOG_LEVELS.join(', ')}`,
    schema: z.enum(LOG_LEVELS),
    fallback: 'info',
  }),
};

/** Keeps the types of its values. */
function setting<T, const F>(described: Setting<T, F>): Setting<T, F> {
  return described;
}

function wholeNumber(least: number, most: number) {
  return z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(least).max(most));
}
