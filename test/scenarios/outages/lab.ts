/** Gateways with their policies and clients, load on them, and a record of every answer, for outages of Redis. */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  headerOf,
  type Load,
  type Outcome,
  percentile,
  startLoad,
} from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { type RedisServer, startRedisServer } from '../../support/redis-server.ts';

/** The value of `X-RateLimit-Mode` for each value of on_store_failure. */
export const MODE_OF = { allow: 'open', deny: 'closed', local: 'local' } as const;
export type FailureMode = keyof typeof MODE_OF;
export const FAILURE_MODES = Object.keys(MODE_OF) as FailureMode[];

/** A limit that no client reaches. */
export const PLENTY = 1_000_000;

/** No window ends during a run. */
export interface OutagePolicy {
  /** Also its path. */
  readonly name: string;
  readonly limit: number;
  readonly onStoreFailure: FailureMode;
}

/** A request of a client to the path of a policy. */
export interface Ask {
  readonly policy: string;
  readonly client: string;
}

export interface Sample {
  readonly ask: Ask;
  /** When it was due, by performance.now(). */
  readonly dueMs: number;
  readonly answeredMs: number;
  readonly tookMs: number;
  /** 0: no answer. */
  readonly status: number;
  /** Undefined: measured by Redis. */
  readonly mode: string | undefined;
  readonly remaining: number | undefined;
  readonly retryAfterSeconds: number | undefined;
}

export const PLENTIFUL: readonly OutagePolicy[] = FAILURE_MODES.map((name) => ({
  name,
  limit: PLENTY,
  onStoreFailure: name,
}));

/** On a busy machine answers are slow. */
const PATIENCE_MS = 40_000;

export function clientNames(count: number, prefix = 'client'): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

/** The path of a file that is removed with `cleanUp`. */
export async function policyFile(
  cleanUp: AsyncDisposableStack,
  policies: readonly OutagePolicy[],
  clients: readonly string[],
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-outage-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'policies.yaml');
  // The keys are listed, so that requests count for the key alone.
  const keys = clients.map((id) => ({ id, sha256: hash('sha256', apiKeyOf(id)) }));
  const policy = ({ name, limit, onStoreFailure }: OutagePolicy) => ({
    name,
    match: { path: `/${name}` },
    limits: [`${limit}/1h`],
    on_store_failure: onStoreFailure,
  });
  writeFileSync(
    file,
    JSON.stringify({
      version: 1,
      identity: { api_key: { keys } },
      default: { limits: [`${PLENTY}/1h`] },
      policies: policies.map(policy),
    }),
  );
  return file;
}

export async function startOutageGateway(
  cleanUp: AsyncDisposableStack,
  policies: string,
  env: NodeJS.ProcessEnv,
): Promise<GatewayProcess> {
  return cleanUp.use(await startGatewayProcess({ HEADGATE_POLICIES: policies, ...env }));
}

/** Options of every outage. */
export interface OutageOptions {
  /** The maximum time that a request waits for Redis. */
  readonly deadlineMs: number;
  readonly perSecond: number;
  /** Until code is compiled, connections are open, and the greedy client is denied. */
  readonly warmUpMs: number;
  /** Time without a fault before each fault. */
  readonly normalMs: number;
}

/** The share of the load that the gateway without Redis gets. */
const TWIN_SHARE = 1 / 5;
const AT_ONCE_PER_SECOND = 2_000;

/** Redis, a gateway that uses it, and a twin that does not: the waits of the twin are the noise of the machine. */
export async function startOutage(
  cleanUp: AsyncDisposableStack,
  { deadlineMs }: OutageOptions,
  { policies, clients }: { policies: readonly OutagePolicy[]; clients: readonly string[] },
): Promise<{ readonly redis: RedisServer; readonly twins: Twins }> {
  const redis = await startRedisServer();
  // A frozen server only reacts to SIGKILL.
  cleanUp.defer(async () => void (await redis.stop('SIGKILL')));
  const file = await policyFile(cleanUp, policies, clients);
  const env = {
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_STORE_TIMEOUT_MS: String(deadlineMs),
  };
  const [gateway, twin] = await Promise.all([
    startOutageGateway(cleanUp, file, env),
    startOutageGateway(cleanUp, file, {}),
  ]);
  return { redis, twins: twinsOf(gateway, twin) };
}

function twinsOf(gateway: GatewayProcess, twin: GatewayProcess): Twins {
  const samples: Sample[] = [];
  const ofTwin: Sample[] = [];
  return {
    gateway,
    samples,
    ofTwin,
    startAsking(perSecond, asks) {
      const loads = [
        startAsking(gateway, perSecond, asks, (sample) => samples.push(sample)),
        startAsking(twin, perSecond * TWIN_SHARE, asks, (sample) => ofTwin.push(sample)),
      ];
      return { stop: async () => void (await Promise.all(loads.map((load) => load.stop()))) };
    },
    async askOnce(asks) {
      const load = startAsking(gateway, AT_ONCE_PER_SECOND, asks, (sample) => samples.push(sample));
      while (load.count < asks.length) await sleep(1);
      await load.stop();
    },
  };
}

export interface Twins {
  readonly gateway: GatewayProcess;
  /** Answers so far. */
  readonly samples: readonly Sample[];
  readonly ofTwin: readonly Sample[];
  startAsking(perSecond: number, asks: readonly Ask[]): { stop(): Promise<void> };
  /** Sends all of them almost at once to the gateway with Redis. Resolves when they are answered. */
  askOnce(asks: readonly Ask[]): Promise<void>;
}

/** Sends these requests in turn, again and again, until it is stopped. */
export function startAsking(
  { url }: Pick<GatewayProcess, 'url'>,
  perSecond: number,
  asks: readonly Ask[],
  onSample: (sample: Sample) => void,
): Load {
  const askOf = (i: number) => asks[i % asks.length] as Ask;
  return startLoad({
    url,
    perSecond,
    patienceMs: PATIENCE_MS,
    request: (i) => requestOf(askOf(i)),
    onOutcome: (outcome) => onSample(sampleOf(askOf(outcome.i), outcome)),
  });
}

export function requestOf({ policy, client }: Ask) {
  return { path: `/envoy/${policy}`, headers: { 'x-api-key': apiKeyOf(client) } };
}

function apiKeyOf(client: string): string {
  return `the key of ${client}`;
}

function sampleOf(ask: Ask, outcome: Outcome): Sample {
  const { dueMs, tookMs, status } = outcome;
  return {
    ask,
    dueMs,
    answeredMs: dueMs + tookMs,
    tookMs,
    status,
    mode: headerOf(outcome, 'x-ratelimit-mode'),
    remaining: numberIn(outcome, 'x-ratelimit-remaining'),
    retryAfterSeconds: numberIn(outcome, 'retry-after'),
  };
}

function numberIn(outcome: Outcome, header: string): number | undefined {
  const text = headerOf(outcome, header);
  return text === undefined ? undefined : Number(text);
}

/** Redis may be back at any moment, so clients may retry soon. */
const MOST_RETRY_AFTER_SECONDS = 5;

/** Whether the answer fits its policy, for a client within its limit, with or without Redis. */
export function isRight({ ask, status, mode, remaining, retryAfterSeconds = 0 }: Sample): boolean {
  if (mode !== undefined && mode !== MODE_OF[ask.policy as FailureMode]) return false;
  if (mode === 'open') return status === 200 && remaining === undefined;
  if (mode !== 'closed') return status === 200 && remaining !== undefined;
  const isSoon = retryAfterSeconds >= 1 && retryAfterSeconds <= MOST_RETRY_AFTER_SECONDS;
  return status === 429 && isSoon && remaining === undefined;
}

export function isMeasured({ status, mode }: Sample): boolean {
  return status !== 0 && mode === undefined;
}

/** Sent and answered in this time. */
export function isWithin({ dueMs, answeredMs }: Sample, fromMs: number, toMs: number): boolean {
  return dueMs >= fromMs && answeredMs <= toMs;
}

export function p99Of(samples: readonly Sample[]): number {
  return percentile(tookMsOf(samples), 0.99);
}

export function latestOf(samples: readonly Sample[]): number {
  return tookMsOf(samples).reduce((most, tookMs) => Math.max(most, tookMs), 0);
}

function tookMsOf(samples: readonly Sample[]): number[] {
  return samples.map(({ tookMs }) => tookMs);
}

/** What no client may see, with or without Redis. */
export function faultRules(samples: readonly Sample[]): Readonly<Record<string, boolean>> {
  return {
    'no answer is a 5xx': samples.every(({ status }) => status < 500),
    'every request is answered': samples.every(({ status }) => status !== 0),
  };
}

export function brokenRules(must: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(must).filter((rule) => !must[rule]);
}

const LONGEST_RETURN_MS = 30_000;

/** Waits until Redis has decided a request of every policy, from sample `from` on. Resolves to the time. */
export async function measuredAgainMs(
  samples: readonly Sample[],
  from: number,
  policies: readonly string[],
): Promise<number> {
  for (const endMs = performance.now() + LONGEST_RETURN_MS; performance.now() < endMs; ) {
    const measured = samples.slice(from).filter(isMeasured);
    const firsts = policies.map((policy) => measured.find(({ ask }) => ask.policy === policy));
    const answeredMs = firsts.map((first) => first?.answeredMs ?? Number.POSITIVE_INFINITY);
    const lastMs = Math.max(...answeredMs);
    if (lastMs < Number.POSITIVE_INFINITY) return lastMs;
    await sleep(5);
  }
  throw new Error(
    `no requests were counted in Redis for ${LONGEST_RETURN_MS} ms after it was back`,
  );
}
