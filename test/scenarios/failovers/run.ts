/**
 * The experiments behind what is said of a Redis that changes hands: under load a master is lost, replaced on purpose,
 * frozen or cut off, slots move from node to node, a node hangs; and what clients saw of it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { startRedisCluster, type TestRedisCluster } from '../../support/redis-cluster.ts';
import { lookAt, type RedisNode, until } from '../../support/redis-node.ts';
import { startRedisSentinel, type TestRedisSentinel } from '../../support/redis-sentinel.ts';
import {
  type Answer,
  type Client,
  crowdedClients,
  type FailoverLoad,
  GATEWAYS,
  manyClients,
  startFailoverLoad,
} from './load.ts';

export type SentinelFault = 'killed' | 'planned' | 'frozen' | 'cut off';
export type ClusterFault = 'killed' | 'planned';

export interface RunOptions {
  readonly perSecond: number;
  /** Before every fault: what answers take then is the noise of this machine. */
  readonly quietMs: number;
}

/** One fault, and all until everything was as before. */
export interface Turn {
  readonly fault: string;
  readonly startMs: number;
  /** What follows is counted from the fault on. */
  readonly promotedMs: number;
  /** Until no gateway was a client of the former master any more. */
  readonly leftMs: number;
  /** Until the slower gateway had a client admitted by the new master. */
  readonly recoveredMs: number;
  /** Until both gateways had told the new master that they are there, and heard resets again. */
  readonly sharedMs: number;
  readonly endMs: number;
  /** Whose counts the master had. */
  readonly isAffected: (client: Client) => boolean;
  /** Script calls that the former master took after it had been replaced; undefined when it could take none. */
  readonly strayCalls: number | undefined;
}

export interface FailoverRun {
  readonly answers: readonly Answer[];
  readonly turns: readonly Turn[];
  /** How many entries the logs of a client have in the end. */
  readonly logs: ReadonlyMap<Client, readonly number[]>;
  /** Of both gateways, what a failure was called and how often. */
  readonly failures: Readonly<Record<string, number>>;
  /** How often a gateway gave Redis up as too slow. */
  readonly givenUp: number;
}

const COUNTED_CLIENTS = 150;
const LIMITED_CLIENTS = 60;
const NODE_TIMEOUT_MS = 1_000;
const LAST_QUIET_MS = 2_500;
/** Of what a frozen server still has in its sockets. */
const DRAIN_MS = 200;

export async function runSentinelFailovers(
  faults: readonly SentinelFault[],
  { perSecond, quietMs }: RunOptions,
): Promise<FailoverRun> {
  await using sentinel = await startRedisSentinel();
  const clients = manyClients(COUNTED_CLIENTS, LIMITED_CLIENTS);
  await using load = await startFailoverLoad(sentinel.url, clients, perSecond);
  const turns: Turn[] = [];
  for (const fault of faults) {
    await sleep(quietMs);
    turns.push(await sentinelTurn(fault, sentinel, load));
  }
  return await finish(load, turns, clients, async () => [(await sentinel.roles()).master]);
}

async function sentinelTurn(
  fault: SentinelFault,
  sentinel: TestRedisSentinel,
  load: FailoverLoad,
): Promise<Turn> {
  const { master, replica } = await sentinel.roles();
  const startMs = performance.now();
  if (fault === 'killed') master.signal('SIGKILL');
  if (fault === 'planned') await sentinel.failOver();
  if (fault === 'frozen') master.signal('SIGSTOP');
  if (fault === 'cut off') await sentinel.cutOff(master);
  const isAffected = () => true;
  const staleMaster = fault === 'killed' || fault === 'frozen' ? undefined : master;
  const moments = await watchFailover(startMs, replica, load, isAffected, {
    nodes: [replica],
    staleMaster,
  });

  let strayCalls: number | undefined;
  if (fault === 'killed') {
    await master.stop();
    await master.startAgain(sentinel.replicaArgs(master, replica));
  } else {
    if (fault === 'frozen') master.signal('SIGCONT');
    await sleep(DRAIN_MS);
    const before = await scriptCalls(master);
    if (fault === 'cut off') await sentinel.joinAgain(master);
    await untilRole(master, 'slave');
    strayCalls = (await scriptCalls(master)) - before;
  }
  await sentinel.settled();
  return { fault, startMs, isAffected, ...moments, strayCalls, endMs: performance.now() };
}

export async function runClusterFailovers(
  faults: readonly ClusterFault[],
  { perSecond, quietMs }: RunOptions,
): Promise<FailoverRun> {
  await using cluster = await startRedisCluster({
    hasReplicas: true,
    nodeTimeoutMs: NODE_TIMEOUT_MS,
  });
  const clients = manyClients(COUNTED_CLIENTS, LIMITED_CLIENTS);
  await using load = await startFailoverLoad(cluster.url, clients, perSecond);
  const turns: Turn[] = [];
  for (const [i, fault] of faults.entries()) {
    await sleep(quietMs);
    turns.push(await clusterTurn(fault, i, cluster, load));
  }
  return await finish(load, turns, clients, async () =>
    (await cluster.shards()).map(({ master }) => master),
  );
}

/** Another master each time. */
async function clusterTurn(
  fault: ClusterFault,
  i: number,
  cluster: TestRedisCluster,
  load: FailoverLoad,
): Promise<Turn> {
  const shards = await cluster.shards();
  const shard = shards.toSorted((a, b) => placeOf(a.master) - placeOf(b.master))[i % shards.length];
  const [replica] = shard?.replicas ?? [];
  if (shard === undefined || replica === undefined) throw new Error('a master has no replica');
  const { master, holds } = shard;
  function placeOf(node: RedisNode) {
    return cluster.nodes.indexOf(node);
  }

  const isAffected = ({ slot }: Client) => holds(slot);
  const startMs = performance.now();
  if (fault === 'killed') master.signal('SIGKILL');
  else await cluster.failOver(replica);
  const moments = await watchFailover(startMs, replica, load, isAffected, { nodes: cluster.nodes });
  if (fault === 'killed') {
    await master.stop();
    await master.startAgain();
  }
  await cluster.settled();
  return {
    fault,
    startMs,
    isAffected,
    ...moments,
    strayCalls: undefined,
    endMs: performance.now(),
  };
}

export interface Resharding {
  readonly slots: number;
  /** In clients each. */
  readonly crowd: number;
}

/** Slots that hold counts go to one of the masters from the others, one by one. */
export async function runResharding(
  { slots, crowd }: Resharding,
  { perSecond, quietMs }: RunOptions,
): Promise<FailoverRun> {
  await using cluster = await startRedisCluster({ nodeTimeoutMs: NODE_TIMEOUT_MS });
  const clients = crowdedClients(slots, crowd);
  await using load = await startFailoverLoad(cluster.url, clients, perSecond);
  await sleep(quietMs);
  const startMs = performance.now();
  // All to one: masters that take slots from each other this fast may disagree on whose they are.
  const [target, ...others] = await cluster.shards();
  if (target === undefined) throw new Error('the cluster has no nodes');
  for (const slot of new Set(clients.map((client) => client.slot))) {
    const source = others.find(({ holds }) => holds(slot));
    if (source !== undefined) await cluster.moveSlot(slot, source.master, target.master);
  }
  const movedMs = performance.now() - startMs;
  await sleep(quietMs);
  const turn = {
    fault: 'slots move',
    startMs,
    promotedMs: 0,
    leftMs: 0,
    recoveredMs: movedMs,
    sharedMs: 0,
    endMs: startMs + movedMs,
    isAffected: () => true,
    strayCalls: undefined,
  };
  return await finish(load, [turn], clients, async () =>
    (await cluster.shards()).map(({ master }) => master),
  );
}

/** One of three masters hangs, and nobody takes its place. */
export async function runHungNode(
  hungMs: number,
  { perSecond, quietMs }: RunOptions,
): Promise<FailoverRun> {
  await using cluster = await startRedisCluster({ nodeTimeoutMs: NODE_TIMEOUT_MS });
  const clients = manyClients(COUNTED_CLIENTS, LIMITED_CLIENTS);
  await using load = await startFailoverLoad(cluster.url, clients, perSecond);
  await sleep(quietMs);
  const [hung] = await cluster.shards();
  if (hung === undefined) throw new Error('the cluster has no nodes');
  const isAffected = ({ slot }: Client) => hung.holds(slot);
  const startMs = performance.now();
  hung.master.signal('SIGSTOP');
  await sleep(hungMs);
  hung.master.signal('SIGCONT');
  const wokenMs = performance.now();
  const admittedMs = await load.admitting(isAffected, wokenMs);
  await cluster.settled();
  const turn = {
    fault: 'hung',
    startMs,
    promotedMs: wokenMs - startMs,
    leftMs: 0,
    recoveredMs: admittedMs - startMs,
    sharedMs: 0,
    endMs: performance.now(),
    isAffected,
    strayCalls: undefined,
  };
  return await finish(load, [turn], clients, async () =>
    (await cluster.shards()).map(({ master }) => master),
  );
}

interface Surroundings {
  /** Where gateways may be heard of and listen. */
  readonly nodes: readonly RedisNode[];
  /** One that goes on as master beside the new one, for as long as gateways ask it. */
  readonly staleMaster?: RedisNode | undefined;
}

async function watchFailover(
  startMs: number,
  replica: RedisNode,
  load: FailoverLoad,
  isAffected: Turn['isAffected'],
  { nodes, staleMaster }: Surroundings,
) {
  const promotedMs = await untilRole(replica, 'master');
  const leftMs = staleMaster === undefined ? promotedMs : await untilLeft(staleMaster);
  const recoveredMs = await load.admitting(isAffected, leftMs);
  const sharedMs = await untilShared(nodes);
  return {
    promotedMs: promotedMs - startMs,
    leftMs: leftMs - startMs,
    recoveredMs: recoveredMs - startMs,
    sharedMs: sharedMs - startMs,
  };
}

async function untilLeft(server: RedisNode): Promise<number> {
  using look = looking([server]);
  const [client] = look.clients as [Redis];
  return await until('no gateway is a client of it', async () => {
    return !/ name=headgate/.test(String(await client.client('LIST')));
  });
}

async function untilRole(server: RedisNode, role: 'master' | 'slave'): Promise<number> {
  using look = looking([server]);
  const [client] = look.clients as [Redis];
  return await until(`${role} is what it is`, async () => {
    return ((await client.role()) as [string])[0] === role;
  });
}

/** Both gateways were heard of, and both listen, wherever in a cluster that is. */
async function untilShared(nodes: readonly RedisNode[]): Promise<number> {
  using look = looking(nodes);
  return await until('both gateways are known and hear', async () => {
    let heard = 0;
    let listening = 0;
    for (const client of look.clients) {
      // Neither do the others of a cluster know, nor does one that is away.
      heard += await client.hlen('hg:v1:replicas').catch(() => 0);
      const reply = await client.pubsub('NUMSUB', 'hg:v1:reset').catch(() => []);
      listening += Number(reply[1] ?? 0);
    }
    return heard === GATEWAYS && listening === GATEWAYS;
  });
}

async function scriptCalls(server: RedisNode): Promise<number> {
  using look = looking([server]);
  const [client] = look.clients as [Redis];
  const calls = (await client.info('commandstats')).matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm);
  return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Of a cluster's other nodes, none. */
function countHere(count: Promise<number>): Promise<number> {
  return count.catch((error: Error) => {
    if (error.message.startsWith('MOVED')) return 0;
    throw error;
  });
}

function looking(nodes: readonly RedisNode[]) {
  const clients = nodes.map(lookAt);
  return {
    clients,
    [Symbol.dispose]: () => {
      for (const client of clients) client.disconnect();
    },
  };
}

/** Once every client was asked about a few times more: what was forgotten shows when it is counted anew. */
async function finish(
  load: FailoverLoad,
  turns: readonly Turn[],
  clients: readonly Client[],
  mastersNow: () => Promise<readonly RedisNode[]>,
): Promise<FailoverRun> {
  await sleep(LAST_QUIET_MS);
  await load.stop();
  using look = looking(await mastersNow());
  const logs = new Map<Client, readonly number[]>();
  for (const client of clients.filter(({ kind }) => kind === 'counted')) {
    const lengths = client.keys.map(async (key) => {
      const counts = await Promise.all(look.clients.map((each) => countHere(each.llen(key))));
      return counts.reduce((sum, count) => sum + count);
    });
    logs.set(client, await Promise.all(lengths));
  }
  const failures: Record<string, number> = {};
  let givenUp = 0;
  for (const { opsUrl } of load.gateways) {
    const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
    givenUp += Number(/^headgate_store_given_up_total (\d+)/m.exec(metrics)?.[1] ?? 0);
    for (const [, reason = '', count] of metrics.matchAll(
      /^headgate_store_errors_total\{reason="(\w+)"\} (\d+)/gm,
    )) {
      failures[reason] = (failures[reason] ?? 0) + Number(count);
    }
  }
  return { answers: load.answers, turns, logs, failures, givenUp };
}
