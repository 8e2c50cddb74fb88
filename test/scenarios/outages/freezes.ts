/** Redis is frozen under load, for a moment or for long, and goes on: what clients see, what it costs, what it counts. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { type RedisServer, startRedisServer } from '../../support/redis-server.ts';
import { residentBytes } from '../../support/resident-memory.ts';
import {
  type Ask,
  brokenRules,
  clientNames,
  FAILURE_MODES,
  type FailureMode,
  faultRules,
  isMeasured,
  isRight,
  isWithin,
  latestOf,
  measuredAgainMs,
  PLENTIFUL,
  PLENTY,
  policyFile,
  requestOf,
  type Sample,
  startTwins,
  type Twins,
} from './lab.ts';

export interface FreezesOptions {
  readonly freezesMs: readonly number[];
  /** Before each freeze. */
  readonly normalMs: number;
  readonly perSecond: number;
  /** How much later than the deadline and the noise the latest decision may come. */
  readonly lateMs: number;
  /** How much the gateway's resident memory may grow during a freeze. */
  readonly mostGrowthMib: number;
}

export interface Freeze {
  readonly durationMs: number;
  /** Redis stands still from here... */
  readonly frozenMs: number;
  /** ...to here. */
  readonly thawedMs: number;
  /** When Redis had measured a decision of every policy again. */
  readonly backMs: number;
  /** Resident memory of the gateway, MiB. */
  readonly rssBefore: number;
  readonly rssMost: number;
  readonly rssAfter: number;
}

/** What Redis counted, in units: all clients and policies together. */
export interface Counted {
  readonly sent: number;
  readonly admitted: number;
  readonly counted: number;
  /** Counts of one client and policy that are more than what it sent, or less than what Redis admitted. */
  readonly wrong: number;
}

export interface FreezesRun {
  readonly freezes: readonly Freeze[];
  /** Of each freeze, from its beginning to being back. */
  readonly during: readonly (readonly Sample[])[];
  /** The others. */
  readonly normal: readonly Sample[];
  /** The slowest answer of this machine that has nothing to do with a Redis that stands still. */
  readonly noiseMs: number;
  readonly counts: Counted;
  readonly wrong: readonly string[];
}

/** As long as a request waits for Redis by default. */
export const DEADLINE_MS = 50;
const CLIENTS = 100;
/** Of each freeze. They ask when it begins and never again, so that a request that is counted twice shows. */
const LATE_CLIENTS = 30;
const LATE_POLICY: FailureMode = 'local';
const WARM_UP_MS = 2_000;
const RSS_EVERY_MS = 100;
export async function runFreezes(options: FreezesOptions): Promise<FreezesRun> {
  await using cleanUp = new AsyncDisposableStack();
  const redis = await startRedisServer();
  // One that stands still hears no gentler signal.
  cleanUp.defer(async () => void (await redis.stop('SIGKILL')));
  const clients = clientNames(CLIENTS);
  const late = options.freezesMs.map((_, i) => clientNames(LATE_CLIENTS, `late-${i}`));
  const policies = await policyFile(cleanUp, PLENTIFUL, [...clients, ...late.flat()]);
  const twins = await startTwins(cleanUp, policies, redis.url);
  const asks = clients.flatMap((client) => FAILURE_MODES.map((policy) => ({ policy, client })));
  const lateAsks = late.map((names) => names.map((client) => ({ policy: LATE_POLICY, client })));

  const { freezesMs, normalMs } = options;
  const load = twins.startAsking(options.perSecond, asks);
  await sleep(WARM_UP_MS);
  const warmMs = performance.now();
  const freezes: Freeze[] = [];
  for (const [i, durationMs] of freezesMs.entries()) {
    await sleep(normalMs);
    freezes.push(await freeze(redis, twins, durationMs, lateAsks[i] ?? []));
  }
  await sleep(normalMs);
  await load.stop();
  const counts = await countedFor([...asks, ...lateAsks.flat()], twins);
  const timesGivenUp = await givenUp(twins.gateway);
  return judged(twins, freezes, timesGivenUp, warmMs, counts, options);
}

async function freeze(
  redis: RedisServer,
  { gateway, samples, askOnce }: Twins,
  durationMs: number,
  lateAsks: readonly Ask[],
): Promise<Freeze> {
  const rssBefore = rssMiB(gateway.pid);
  let rssMost = rssBefore;
  const watch = setInterval(() => {
    rssMost = Math.max(rssMost, rssMiB(gateway.pid));
  }, RSS_EVERY_MS);
  redis.signal('SIGSTOP');
  while (stateOf(redis.pid) !== 'T') await sleep(1);
  const frozenMs = performance.now();
  await Promise.all([sleep(durationMs), askOnce(lateAsks)]);
  const from = samples.length;
  const thawedMs = performance.now();
  redis.signal('SIGCONT');
  clearInterval(watch);
  const rssAfter = rssMiB(gateway.pid);
  const backMs = await measuredAgainMs(samples, from, FAILURE_MODES);
  return { durationMs, frozenMs, thawedMs, backMs, rssBefore, rssMost, rssAfter };
}

function rssMiB(pid: number): number {
  return residentBytes(pid) / 1024 / 1024;
}

/** One letter: T has been stopped. */
function stateOf(pid: number): string | undefined {
  return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
}

/** Asks Redis about every client and policy, and holds that against what they sent. */
async function countedFor(asks: readonly Ask[], { gateway, samples }: Twins): Promise<Counted> {
  const samplesOf = Map.groupBy(samples, ({ ask }) => ask);
  const sums = { sent: 0, admitted: 0, counted: 0, wrong: 0 };
  for (const ask of asks) {
    const own = samplesOf.get(ask) ?? [];
    const { left, tries } = await leftFor(ask, gateway);
    const sent = own.length + tries;
    const admitted = own.filter(isMeasured).length + 1;
    const counted = PLENTY - left;
    sums.sent += sent;
    sums.admitted += admitted;
    sums.counted += counted;
    if (!(counted >= admitted && counted <= sent)) sums.wrong++;
  }
  return sums;
}

/** How often the gateway stopped to ask Redis since it was too slow. */
async function givenUp({ opsUrl }: GatewayProcess): Promise<number> {
  const { body } = await call(opsUrl, '/metrics');
  return Number(/^headgate_store_given_up_total (\d+)/m.exec(body)?.[1]);
}

const MOST_TRIES = 20;

async function leftFor(
  ask: Ask,
  { url }: GatewayProcess,
): Promise<{ left: number; tries: number }> {
  const { path, headers } = requestOf(ask);
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const answer = await call(url, path, { headers });
    const isMeasured = answer.headers['x-ratelimit-mode'] === undefined;
    if (isMeasured) return { left: Number(answer.headers['x-ratelimit-remaining']), tries };
  }
  throw new Error(`Redis did not measure one of ${MOST_TRIES} requests`);
}

function judged(
  { samples, ofTwin }: Twins,
  freezes: readonly Freeze[],
  timesGivenUp: number,
  warmMs: number,
  counts: Counted,
  { lateMs, mostGrowthMib }: FreezesOptions,
): FreezesRun {
  const during = freezes.map(({ frozenMs, backMs }) =>
    samples.filter(({ dueMs }) => dueMs >= frozenMs && dueMs <= backMs),
  );
  const isDuring = new Set(during.flat());
  const normal = samples.filter((sample) => sample.dueMs >= warmMs && !isDuring.has(sample));
  const still = freezes.map(({ frozenMs, thawedMs }) =>
    samples.filter((sample) => isWithin(sample, frozenMs, thawedMs)),
  );
  // An answer that was given at the deadline says nothing of the machine.
  const undisturbed = [
    ...normal.filter(isMeasured),
    ...ofTwin.filter(({ dueMs }) => dueMs > warmMs),
  ];
  const noiseMs = latestOf(undisturbed);
  const latestMs = Math.max(...during.map(latestOf));
  const growth = Math.max(...freezes.map(({ rssBefore, rssMost }) => rssMost - rssBefore));
  const wrong = brokenRules({
    ...faultRules([...samples, ...ofTwin]),
    'every answer is that of its policy': samples.every(isRight),
    'while Redis stands still no answer passes for measured': still
      .flat()
      .every(({ mode }) => mode),
    'while Redis stands still there is load': still.flat().length > 0,
    'a Redis that stands still is given up': timesGivenUp > 0,
    [`the latest decision comes ${lateMs} ms after the deadline at most, and the noise`]:
      latestMs <= DEADLINE_MS + lateMs + noiseMs,
    [`the memory grows by ${mostGrowthMib} MiB at most`]: growth <= mostGrowthMib,
    'nothing is counted twice, and nothing lost': counts.wrong === 0,
  });
  return { freezes, during, normal, noiseMs, counts, wrong };
}
