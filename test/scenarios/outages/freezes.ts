/** Freezes Redis under load, and lets it continue. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import type { RedisServer } from '../../support/redis-server.ts';
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
  type OutageOptions,
  PLENTIFUL,
  PLENTY,
  requestOf,
  type Sample,
  startOutage,
  type Twins,
} from './lab.ts';

export interface FreezesOptions extends OutageOptions {
  readonly freezesMs: readonly number[];
  /** How much later than deadline and noise the latest decision may come. */
  readonly lateMs: number;
  /** How much the gateway's resident memory may grow during a freeze. */
  readonly mostGrowthMib: number;
}

interface Freeze {
  readonly durationMs: number;
  /** Between these two Redis is frozen. */
  readonly frozenMs: number;
  readonly thawedMs: number;
  /** When Redis had decided a request of every policy again. */
  readonly backMs: number;
  /** Resident memory of the gateway, MiB. */
  readonly rssBefore: number;
  readonly rssMost: number;
  readonly rssAfter: number;
}

/** What Redis counted, in units of all clients and policies. */
interface Counted {
  readonly sent: number;
  readonly admitted: number;
  readonly counted: number;
  /** Counts that are higher than the requests sent, or lower than those that Redis admitted. */
  readonly wrong: number;
}

export interface FreezesRun {
  readonly freezes: readonly Freeze[];
  /** Of each freeze, from its start until Redis decides again. */
  readonly during: readonly (readonly Sample[])[];
  /** At other times. */
  readonly normal: readonly Sample[];
  /** The slowest answer that has nothing to do with the freezes. */
  readonly noiseMs: number;
  readonly counts: Counted;
  readonly wrong: readonly string[];
}

const CLIENTS = 100;
/** Clients that send one request at the start of a freeze and no other, so that a double count shows. */
const LATE_CLIENTS = 30;
const LATE_POLICY: FailureMode = 'local';
const RSS_EVERY_MS = 100;
export async function runFreezes(options: FreezesOptions): Promise<FreezesRun> {
  await using cleanUp = new AsyncDisposableStack();
  const clients = clientNames(CLIENTS);
  const late = options.freezesMs.map((_, i) => clientNames(LATE_CLIENTS, `late-${i}`));
  const { redis, twins } = await startOutage(cleanUp, options, {
    policies: PLENTIFUL,
    clients: [...clients, ...late.flat()],
  });
  const asks = clients.flatMap((client) => FAILURE_MODES.map((policy) => ({ policy, client })));
  const lateAsks = late.map((names) => names.map((client) => ({ policy: LATE_POLICY, client })));

  const { freezesMs, normalMs } = options;
  const load = twins.startAsking(options.perSecond, asks);
  await sleep(options.warmUpMs);
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

/** The letter of the process state: T is stopped. */
function stateOf(pid: number): string | undefined {
  return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
}

/** Compares what Redis counted for every client and policy with what they sent. */
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

/** How often the gateway gave up Redis because it was too slow. */
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
  { lateMs, mostGrowthMib, deadlineMs }: FreezesOptions,
): FreezesRun {
  const during = freezes.map(({ frozenMs, backMs }) =>
    samples.filter(({ dueMs }) => dueMs >= frozenMs && dueMs <= backMs),
  );
  const isDuring = new Set(during.flat());
  const normal = samples.filter((sample) => sample.dueMs >= warmMs && !isDuring.has(sample));
  const still = freezes.map(({ frozenMs, thawedMs }) =>
    samples.filter((sample) => isWithin(sample, frozenMs, thawedMs)),
  );
  // Answers at the deadline are no noise.
  const undisturbed = [
    ...normal.filter(isMeasured),
    ...ofTwin.filter(({ dueMs }) => dueMs > warmMs),
  ];
  const noiseMs = latestOf(undisturbed);
  const latestMs = Math.max(...during.map(latestOf));
  const growth = Math.max(...freezes.map(({ rssBefore, rssMost }) => rssMost - rssBefore));
  const wrong = brokenRules({
    ...faultRules([...samples, ...ofTwin]),
    'every answer fits its policy': samples.every(isRight),
    'while Redis is frozen every answer says its mode': still.flat().every(({ mode }) => mode),
    'while Redis is frozen there is load': still.flat().length > 0,
    'the gateway gives up a frozen Redis': timesGivenUp > 0,
    [`no decision comes later than ${lateMs} ms after deadline and noise`]:
      latestMs <= deadlineMs + lateMs + noiseMs,
    [`the memory grows by ${mostGrowthMib} MiB at most`]: growth <= mostGrowthMib,
    'nothing is counted twice, and nothing lost': counts.wrong === 0,
  });
  return { freezes, during, normal, noiseMs, counts, wrong };
}
