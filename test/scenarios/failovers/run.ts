/**
 * Fails Redis over under load, and records what clients see: a master is killed, replaced on purpose, frozen or cut off,
 * slots move from node to node, or a node hangs.
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
  /** The maximum time that a request waits for Redis. */
  readonly deadlineMs: number;
  /** Before every fault. Waits in this time are the noise of the machine. */
  readonly quietMs: number;
  /** After the last fault, so that every client sends more requests: they show which counts were forgotten. */
  readonly lastQuietMs: number;
  /** Clients that are never denied, and clients that often are. */
  readonly counted: number;
  readonly limited: number;
}

/** One fault, until everything is as before. */
export interface Turn {
  readonly fault: string;
  readonly startMs: number;
  /** This and the next three are from the fault on. */
  readonly promotedMs: number;
  /** Until no gateway had a connection to the former master. */
  readonly leftMs: number;
  /** Until the new master had admitted a client for both gateways. */
  readonly recoveredMs: number;
  /** Until both gateways had a heartbeat on the new master, and listened for resets there. */
  readonly sharedMs: number;
  readonly endMs: number;
  /** Whether the master had the counts of this client. */
  readonly isAffected: (client: Client) => boolean;
  /** Script calls of the former master after it was replaced. Undefined if it could not take any. */
  readonly strayCalls: number | undefined;
}

export interface FailoverRun {
  readonly answers: readonly Answer[];
  readonly turns: readonly Turn[];
  readonly deadlineMs: number;
  /** The number of entries in each log of a client, after the run. */
  readonly logs: ReadonlyMap<Client, readonly number[]>;
  /** Failures of both gateways, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** How often a gateway gave Redis up as too slow. */
  readonly givenUp: number;
}

const NODE_TIMEOUT_MS = 1_000;
/** Until a server that was frozen has read its sockets. */
const DRAIN_MS = 200;

export async function runSentinelFailovers(
  faults: readonly SentinelFault[],
  options: RunOptions,
): Promise<FailoverRun> {
  await using sentinel = await startRedisSentinel();
  const clients = manyClients(options.counted, options.limited);
  await using load = await startFailoverLoad(sentinel.url, clients, options);
  const turns: Turn[] = [];
  for (const fault of faults) {
    await sleep(options.quietMs);
    turns.push(await sentinelTurn(fault, sentinel, load));
  }
  return await finish({ load, turns, clients, options }, async () => [
    (await sentinel.roles()).master,
  ]);
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
  options: RunOptions,
): Promise<FailoverRun> {
  await using cluster = await startRedisCluster({
    hasReplicas: true,
    nodeTimeoutMs: NODE_TIMEOUT_MS,
  });
  const clients = manyClients(options.counted, options.limited);
  await using load = await startFailoverLoad(cluster.url, clients, options);
  const turns: Turn[] = [];
  for (const [i, fault] of faults.entries()) {
    await sleep(options.quietMs);
    turns.push(await clusterTurn(fault, i, cluster, load));
  }
  return await finish({ load, turns, clients, options }, async () =>
    (await cluster.shards()).map(({ master }) => master),
  );
}

/** Each turn takes another master. */
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

/** Moves the slots that hold counts from the other masters to one, one by one. */
export async function runResharding(
  { slots, crowd }: Resharding,
  options: RunOptions,
): Promise<FailoverRun> {
  await using cluster = await startRedisCluster({ nodeTimeoutMs: NODE_TIMEOUT_MS });
  const clients = crowdedClients(slots, crowd);
  await using load = await startFailoverLoad(cluster.url, clients, options);
  await sleep(options.quietMs);
  const startMs = performance.now();
  // All move to one: masters that take slots from each other this fast may disagree about the owner.
  const [target, ...others] = await cluster.shards();
  if (target === undefined) throw new Error('the cluster has no nodes');
  for (const slot of new Set(clients.map((client) => client.slot))) {
    const source = others.find(({ holds }) => holds(slot));
    if (source !== undefined) await cluster.moveSlot(slot, source.master, target.master);
  }
  const movedMs = performance.now() - startMs;
  await sleep(options.quietMs);
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
  return await finish({ load, turns: [turn], clients, options }, async () =>
    (await cluster.shards()).map(({ master }) => master),
  );
}

/** One of three masters hangs, and has no replica. */
export async function runHungNode(hungMs: number, options: RunOptions): Promise<FailoverRun> {
  await using cluster = await startRedisCluster({ nodeTimeoutMs: NODE_TIMEOUT_MS });
  const clients = manyClients(options.counted, options.limited);
  await using load = await startFailoverLoad(cluster.url, clients, options);
  await sleep(options.quietMs);
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
  return await finish({ load, turns: [turn], clients, options }, async () =>
    (await cluster.shards()).map(({ master }) => master),
  );
}

interface Surroundings {
  /** Nodes that may have the heartbeats and the listeners of gateways. */
  readonly nodes: readonly RedisNode[];
  /** A former master that still believes it is master. */
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
  return await until('no gateway has a connection to it', async () => {
    return !/ name=headgate/.test(String(await client.client('LIST')));
  });
}

async function untilRole(server: RedisNode, role: 'master' | 'slave'): Promise<number> {
  using look = looking([server]);
  const [client] = look.clients as [Redis];
  return await until(`its role is ${role}`, async () => {
    return ((await client.role()) as [string])[0] === role;
  });
}

/** Waits until both gateways have a heartbeat and a listener, on any node. */
async function untilShared(nodes: readonly RedisNode[]): Promise<number> {
  using look = looking(nodes);
  return await until('both gateways have a heartbeat and listen', async () => {
    let heard = 0;
    let listening = 0;
    for (const client of look.clients) {
      // The other nodes of a cluster refuse, and a node that is down does not answer.
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

/** The other nodes of a cluster count 0. */
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

interface Experiment {
  readonly load: FailoverLoad;
  readonly turns: readonly Turn[];
  readonly clients: readonly Client[];
  readonly options: RunOptions;
}

async function finish(
  { load, turns, clients, options: { lastQuietMs, deadlineMs } }: Experiment,
  mastersNow: () => Promise<readonly RedisNode[]>,
): Promise<FailoverRun> {
  await sleep(lastQuietMs);
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
  return { answers: load.answers, turns, deadlineMs, logs, failures, givenUp };
}
