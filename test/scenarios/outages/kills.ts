/** Redis is killed again and again under load, and started anew on its port: what clients see of it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer } from '../../support/redis-server.ts';
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
  measuredAgainMs,
  PLENTIFUL,
  p99Of,
  policyFile,
  type Sample,
  startTwins,
  type Twins,
} from './lab.ts';

export interface KillsOptions {
  readonly kills: number;
  /** From the end of one Redis to the start of the next, at least. */
  readonly outageMs: number;
  /** Before each kill. */
  readonly normalMs: number;
  readonly perSecond: number;
  /** How much longer the answers of an outage may take than the others, at the 99th percentile. */
  readonly p99MoreMs: number;
  /** From the moment that Redis accepts connections. */
  readonly backWithinMs: number;
}

export interface Outage {
  readonly killedMs: number;
  /** Redis is gone from here... */
  readonly goneMs: number;
  /** ...to here. */
  readonly startedMs: number;
  readonly acceptedMs: number;
  /** When Redis had measured a decision of every policy again. */
  readonly backMs: number;
}

export interface KillsRun {
  readonly outages: readonly Outage[];
  /** Of clients that stay within their limits, from killing to being back. */
  readonly during: readonly Sample[];
  /** The others of them. */
  readonly normal: readonly Sample[];
  /** Of a gateway without Redis, at the same time as those of the outages. */
  readonly twinDuring: readonly Sample[];
  /** Of the client that does not. */
  readonly greedy: readonly Sample[];
  readonly backAfterMs: readonly number[];
  readonly wrong: readonly string[];
}

const CLIENTS = 50;
/** Asks for much more than it may have, and for the more the more often it is denied. */
const GREEDY = { policy: 'scarce', client: 'greedy' } as const;
const GREEDY_LIMIT = 20;
const CLIENTS_PER_GREEDY_ASK = 5;
/** Until programs are compiled, connections made and the greedy client denied. */
const WARM_UP_MS = 2_000;
/** One unit; requests that are due outside of the outage may yet come between two that are in it. */
const MOST_SPAN = 1.25;
/** A gateway tries to connect about so often: returns come at any point between two tries. */
const TRY_EVERY_MS = 450;

export async function runKills(options: KillsOptions): Promise<KillsRun> {
  await using cleanUp = new AsyncDisposableStack();
  let redis = await startRedisServer();
  cleanUp.defer(async () => void (await redis.stop('SIGKILL')));
  const clients = clientNames(CLIENTS);
  const scarce = { name: GREEDY.policy, limit: GREEDY_LIMIT, onStoreFailure: 'local' } as const;
  const everyone = [...clients, GREEDY.client];
  const policies = await policyFile(cleanUp, [...PLENTIFUL, scarce], everyone);
  const twins = await startTwins(cleanUp, policies, redis.url);

  const load = twins.startAsking(options.perSecond, asksOf(clients));
  await sleep(WARM_UP_MS);
  const warmMs = performance.now();
  const outages: Outage[] = [];
  for (let kill = 0; kill < options.kills; kill++) {
    await sleep(options.normalMs);
    const outageMs = options.outageMs + (kill / options.kills) * TRY_EVERY_MS;
    const [outage, next] = await killAndStart(redis, outageMs, twins.samples);
    redis = next;
    outages.push(outage);
  }
  await sleep(options.normalMs);
  await load.stop();
  return judged(twins, outages, warmMs, options);
}

function asksOf(clients: readonly string[]): Ask[] {
  return clients.flatMap((client, i) => [
    ...FAILURE_MODES.map((policy) => ({ policy, client })),
    ...(i % CLIENTS_PER_GREEDY_ASK === 0 ? [GREEDY] : []),
  ]);
}

async function killAndStart(
  redis: RedisServer,
  outageMs: number,
  samples: readonly Sample[],
): Promise<[Outage, RedisServer]> {
  const killedMs = performance.now();
  await redis.stop('SIGKILL');
  const goneMs = performance.now();
  await sleep(outageMs);
  const startedMs = performance.now();
  const from = samples.length;
  const accepted = acceptedMs(redis.port);
  const next = await startRedisServer({ port: redis.port });
  const backMs = await measuredAgainMs(samples, from, FAILURE_MODES);
  return [{ killedMs, goneMs, startedMs, acceptedMs: await accepted, backMs }, next];
}

/** When the first connection to a port that nobody listens on yet is accepted. */
async function acceptedMs(port: number): Promise<number> {
  while (true) {
    const socket = connect(port, '127.0.0.1');
    const isAccepted = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isAccepted) return performance.now();
    await sleep(2);
  }
}

function judged(
  { samples, ofTwin }: Twins,
  outages: readonly Outage[],
  warmMs: number,
  { kills, p99MoreMs, backWithinMs }: KillsOptions,
): KillsRun {
  const greedy = samples.filter(({ ask }) => ask === GREEDY);
  const modest = samples.filter(({ ask, dueMs }) => ask !== GREEDY && dueMs >= warmMs);
  const isDuring = ({ dueMs }: Sample) =>
    outages.some(({ killedMs, backMs }) => dueMs >= killedMs && dueMs <= backMs);
  const during = modest.filter(isDuring);
  const twinDuring = ofTwin.filter(isDuring);
  const normal = modest.filter((sample) => !isDuring(sample));
  const without = outages.map(({ goneMs, startedMs }) =>
    modest.filter((sample) => isWithin(sample, goneMs, startedMs)),
  );
  const backAfterMs = outages.map(({ acceptedMs, backMs }) => Math.max(0, backMs - acceptedMs));
  const wrong = brokenRules({
    ...faultRules([...samples, ...ofTwin]),
    'every answer is that of its policy': modest.every(isRight),
    'without Redis no answer passes for measured': without.flat().every(({ mode }) => mode),
    'without Redis every policy is asked': hasEveryPolicy(without.flat()),
    'without Redis every request takes from its local limit': without.every(isEachCounted),
    'without Redis no request takes twice from it': spanOfCounts(without) <= MOST_SPAN,
    'who was denied by Redis is denied without it': isDeniedOn(greedy),
    'no Redis admits more than the limit': admitted(greedy) <= (kills + 1) * GREEDY_LIMIT,
    'the greedy client uses up its limit': admitted(greedy) >= GREEDY_LIMIT,
    [`p99 is at most ${p99MoreMs} ms more than else, or than without Redis at the same time`]:
      p99Of(during) <= Math.max(p99Of(normal), p99Of(twinDuring)) + p99MoreMs,
    [`Redis measures again within ${backWithinMs} ms`]: Math.max(...backAfterMs) <= backWithinMs,
  });
  return { outages, during, normal, twinDuring, greedy, backAfterMs, wrong };
}

function hasEveryPolicy(samples: readonly Sample[]): boolean {
  return FAILURE_MODES.every((mode) => ofPolicy(samples, mode).length > 0);
}

export function ofPolicy(samples: readonly Sample[], policy: FailureMode): Sample[] {
  return samples.filter(({ ask }) => ask.policy === policy);
}

/** What remains, request by request. */
function localCounts(samples: readonly Sample[]): number[][] {
  const ofClients = Map.groupBy(ofPolicy(samples, 'local'), ({ ask }) => ask.client);
  return [...ofClients.values()].map((own) => own.map(({ remaining }) => remaining ?? Number.NaN));
}

function isEachCounted(samples: readonly Sample[]): boolean {
  return localCounts(samples).every((counts) => new Set(counts).size === counts.length);
}

/** Units taken by each request, as far as clients can tell. */
function spanOfCounts(outages: readonly (readonly Sample[])[]): number {
  const counts = outages.flatMap(localCounts);
  const taken = counts.reduce((sum, own) => sum + Math.max(...own) - Math.min(...own) + 1, 0);
  return taken / counts.flat().length;
}

/** From the first denial by Redis on: no count that a gateway has seen is lost with Redis. */
function isDeniedOn(greedy: readonly Sample[]): boolean {
  const inOrder = greedy.toSorted((a, b) => a.answeredMs - b.answeredMs);
  const denial = inOrder.find((sample) => isMeasured(sample) && sample.status === 429);
  if (denial === undefined) return false;
  const later = inOrder.filter(({ dueMs, mode }) => dueMs > denial.answeredMs && mode === 'local');
  return later.length > 0 && later.every(({ status }) => status === 429);
}

/** By Redis. */
function admitted(samples: readonly Sample[]): number {
  return samples.filter((sample) => isMeasured(sample) && sample.status === 200).length;
}
