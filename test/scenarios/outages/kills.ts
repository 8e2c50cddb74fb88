/** Kills Redis several times under load and starts it again on its port. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../support/eventually.ts';
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
  type OutageOptions,
  PLENTIFUL,
  p99Of,
  type Sample,
  startOutage,
  type Twins,
} from './lab.ts';

export interface KillsOptions extends OutageOptions {
  readonly kills: number;
  /** Clients within their limits. Each should send several requests to each policy during an outage. */
  readonly clients: number;
  /** From the end of one Redis to the start of the next, at least. */
  readonly outageMs: number;
  /** How much longer answers may take during an outage than otherwise, at the 99th percentile. */
  readonly p99MoreMs: number;
  /** From the moment that Redis accepts connections. */
  readonly backWithinMs: number;
}

interface Outage {
  readonly killedMs: number;
  /** Between these two there is no Redis. */
  readonly goneMs: number;
  readonly startedMs: number;
  readonly acceptedMs: number;
  /** When Redis had decided a request of every policy again. */
  readonly backMs: number;
}

export interface KillsRun {
  readonly outages: readonly Outage[];
  /** Of clients within their limits, during outages. */
  readonly during: readonly Sample[];
  /** Of the same clients at other times. */
  readonly normal: readonly Sample[];
  /** Of the gateway without Redis, during outages. */
  readonly twinDuring: readonly Sample[];
  /** Of the client that exceeds its limit. */
  readonly greedy: readonly Sample[];
  readonly backAfterMs: readonly number[];
  readonly wrong: readonly string[];
}

/** Sends far more than its limit. */
const GREEDY = { policy: 'scarce', client: 'greedy' } as const;
const GREEDY_LIMIT = 20;
const CLIENTS_PER_GREEDY_ASK = 5;
/** Each request takes one unit. A few requests at the edges of an outage are not among the samples. */
const MOST_SPAN = 1.25;
/** The time between two attempts to connect. Outages end at different points of it. */
const TRY_EVERY_MS = 450;

export async function runKills(options: KillsOptions): Promise<KillsRun> {
  await using cleanUp = new AsyncDisposableStack();
  const clients = clientNames(options.clients);
  const scarce = { name: GREEDY.policy, limit: GREEDY_LIMIT, onStoreFailure: 'local' } as const;
  const everyone = [...clients, GREEDY.client];
  const policies = [...PLENTIFUL, scarce];
  const { redis: first, twins } = await startOutage(cleanUp, options, {
    policies,
    clients: everyone,
  });
  let redis = first;
  cleanUp.defer(async () => void (await redis.stop('SIGKILL')));

  const load = twins.startAsking(options.perSecond, asksOf(clients));
  await sleep(options.warmUpMs);
  await waitUntil('Redis denies the greedy client', async () =>
    twins.samples.some(
      (sample) => sample.ask === GREEDY && isMeasured(sample) && sample.status === 429,
    ),
  );
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

/** Resolves to the time of the first connection that the port accepts. */
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
    'every answer fits its policy': modest.every(isRight),
    'without Redis every answer says its mode': without.flat().every(({ mode }) => mode),
    'without Redis every policy gets requests': hasEveryPolicy(without.flat()),
    'without Redis every request takes from its local limit': without.every(isEachCounted),
    'without Redis no request takes twice from it': spanOfCounts(without) <= MOST_SPAN,
    'a client that Redis denied is denied without Redis': isDeniedOn(greedy, outages),
    'no Redis admits more than the limit': admitted(greedy) <= (kills + 1) * GREEDY_LIMIT,
    'the greedy client uses up its limit': admitted(greedy) >= GREEDY_LIMIT,
    [`p99 is at most ${p99MoreMs} ms more than at other times, or than that of the gateway without Redis`]:
      p99Of(during) <= Math.max(p99Of(normal), p99Of(twinDuring)) + p99MoreMs,
    [`Redis decides again within ${backWithinMs} ms`]: Math.max(...backAfterMs) <= backWithinMs,
  });
  return { outages, during, normal, twinDuring, greedy, backAfterMs, wrong };
}

function hasEveryPolicy(samples: readonly Sample[]): boolean {
  return FAILURE_MODES.every((mode) => ofPolicy(samples, mode).length > 0);
}

export function ofPolicy(samples: readonly Sample[], policy: FailureMode): Sample[] {
  return samples.filter(({ ask }) => ask.policy === policy);
}

/** What remains after each request. */
function localCounts(samples: readonly Sample[]): number[][] {
  const ofClients = Map.groupBy(ofPolicy(samples, 'local'), ({ ask }) => ask.client);
  return [...ofClients.values()].map((own) => own.map(({ remaining }) => remaining ?? Number.NaN));
}

function isEachCounted(samples: readonly Sample[]): boolean {
  return localCounts(samples).every((counts) => new Set(counts).size === counts.length);
}

/** The average number of units that a request takes. */
function spanOfCounts(outages: readonly (readonly Sample[])[]): number {
  const counts = outages.flatMap(localCounts);
  const taken = counts.reduce((sum, own) => sum + Math.max(...own) - Math.min(...own) + 1, 0);
  return taken / counts.flat().length;
}

/** Gateways still know the counts that they have seen, so a client that Redis denied last is denied while it is gone. */
function isDeniedOn(greedy: readonly Sample[], outages: readonly Outage[]): boolean {
  const inOrder = greedy.toSorted((a, b) => a.answeredMs - b.answeredMs);
  const without = outages.flatMap(({ goneMs, startedMs }) => {
    const last = inOrder.findLast((sample) => isMeasured(sample) && sample.answeredMs <= goneMs);
    if (last?.status !== 429) return [];
    return inOrder.filter(
      (sample) => sample.mode === 'local' && isWithin(sample, last.answeredMs, startedMs),
    );
  });
  return without.length > 0 && without.every(({ status }) => status === 429);
}

/** By Redis. */
function admitted(samples: readonly Sample[]): number {
  return samples.filter((sample) => isMeasured(sample) && sample.status === 200).length;
}
