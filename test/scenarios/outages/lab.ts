/**
 * What the experiments with a Redis that goes away have in common: gateways with policies and clients of the
 * experiment's own, load on them, and what each answer says.
 */
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

/** By what they are called in `X-RateLimit-Mode`. */
export const MODE_OF = { allow: 'open', deny: 'closed', local: 'local' } as const;
export type FailureMode = keyof typeof MODE_OF;
export const FAILURE_MODES = Object.keys(MODE_OF) as FailureMode[];

/** So much that no client of an experiment uses it up. */
export const PLENTY = 1_000_000;

/** Of the policy file. No window ends during an experiment. */
export interface OutagePolicy {
  /** Its path, too. */
  readonly name: string;
  readonly limit: number;
  readonly onStoreFailure: FailureMode;
}

/** What is asked: a client's question about a policy. */
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
  // Listed keys, so that nothing but the client is counted.
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

/** The part of the load that a gateway without Redis has. */
const TWIN_SHARE = 1 / 5;
const AT_ONCE_PER_SECOND = 2_000;

/**
 * The same load on two gateways, of which one has no Redis: how late its answers come says what this machine does to
 * all answers at the same time.
 */
export async function startTwins(
  cleanUp: AsyncDisposableStack,
  policies: string,
  redisUrl: string,
): Promise<Twins> {
  const gateway = await startOutageGateway(cleanUp, policies, { HEADGATE_REDIS_URL: redisUrl });
  const twin = await startOutageGateway(cleanUp, policies, {});
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
  /** Both grow while there is load. */
  readonly samples: readonly Sample[];
  readonly ofTwin: readonly Sample[];
  startAsking(perSecond: number, asks: readonly Ask[]): { stop(): Promise<void> };
  /** All of them, nearly at once, of the gateway that has Redis. Resolves when they are answered. */
  askOnce(asks: readonly Ask[]): Promise<void>;
}

/** Asks all of them in turn, again and again, until it is stopped. */
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

/** A limiter that cannot measure may be back at any moment. */
const MOST_RETRY_AFTER_SECONDS = 5;

/** Whether it may be answered so to a client that has not used up its limit, whether or not Redis is there. */
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

/** Due in it and, where it has an end, answered in it. */
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

/** What no client may see, whatever became of Redis. */
export function faultRules(samples: readonly Sample[]): Readonly<Record<string, boolean>> {
  return {
    'no answer is a 5xx': samples.every(({ status }) => status < 500),
    'every request is answered': samples.every(({ status }) => status !== 0),
  };
}

export function brokenRules(must: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(must).filter((rule) => !must[rule]);
}

const LONGEST_RETURN_MS = 10_000;

/**
 * When Redis had measured a decision of every one of these policies, of those that were answered from `from` on in the
 * list of samples, to which more are added meanwhile.
 */
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
  throw new Error(`Redis measured nothing for ${LONGEST_RETURN_MS} ms after it was back`);
}
