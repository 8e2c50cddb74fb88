/** A real cluster of three masters, each with a replica if there are to be any, formed as `redis-cli --cluster create` would. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { freePort, takePort } from './ports.ts';
import { lookAt, type RedisNode, startRedisNode, until } from './redis-node.ts';
import { IN_MEMORY } from './redis-server.ts';

export interface ClusterOptions {
  /** Each master has one, which takes its place when the other masters miss it. */
  readonly hasReplicas?: boolean;
  /** How long a node may be silent before the others take it for lost. */
  readonly nodeTimeoutMs?: number;
}

export interface TestRedisCluster extends AsyncDisposable {
  /** The first masters in the order of their slots, of which each has a third; then their replicas in the same order. */
  readonly nodes: readonly RedisNode[];
  /** Names all of them: `redis+cluster://127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002`. */
  readonly url: string;
  /** Who has which slots, as those see it that can be asked. */
  shards(): Promise<readonly Shard[]>;
  /** A replica takes the place of its master, while the master is there. */
  failOver(replica: RedisNode): Promise<void>;
  /** Keys go one by one, with time for requests that find some of theirs here and some there. */
  moveSlot(slot: number, from: RedisNode, to: RedisNode): Promise<void>;
  /** Resolves once all nodes see each other, and every replica follows its master. */
  settled(): Promise<void>;
}

interface Shard {
  readonly master: RedisNode;
  readonly replicas: readonly RedisNode[];
  holds(slot: number): boolean;
}

interface Member {
  readonly server: RedisNode;
  readonly client: Redis;
}

/** Nodes talk to each other on their port plus this. Only servers from 7.0 on can be given another one. */
const BUS_PORT_OFFSET = 10_000;

const MASTERS = 3;
const SLOTS = 16_384;
const MIGRATE_TIMEOUT_MS = 5_000;
const BETWEEN_KEYS_MS = 10;

/** Takes two seconds at least: a master that was just started accepts nothing before. */
export async function startRedisCluster(options: ClusterOptions = {}): Promise<TestRedisCluster> {
  const { hasReplicas = false, nodeTimeoutMs = 2_000 } = options;
  await using unlessItForms = new AsyncDisposableStack();
  const members: Member[] = [];
  for (let i = 0; i < (hasReplicas ? 2 * MASTERS : MASTERS); i++) {
    const server = unlessItForms.use(await startNode(nodeTimeoutMs));
    const client = unlessItForms.adopt(lookAt(server), (open) => open.disconnect());
    members.push({ server, client });
  }
  const nodes = members.map(({ server }) => server);
  const clientOf = (node: RedisNode) => members[nodes.indexOf(node)]?.client as Redis;

  async function shards(): Promise<readonly Shard[]> {
    const asked = members.map(({ client }) => client.call('CLUSTER', 'NODES').then(String));
    const known = (await Promise.any(asked)).trim().split('\n').map(readNode);
    const byPort = (port: number) => nodes.find((node) => node.port === port) as RedisNode;
    return known
      .filter(({ slots }) => slots.length > 0)
      .map(({ id, port, slots }) => ({
        master: byPort(port),
        replicas: known.filter(({ masterId }) => masterId === id).map((each) => byPort(each.port)),
        holds: (slot) => slots.some(([first, last]) => first <= slot && slot <= last),
      }));
  }

  async function moveSlot(slot: number, from: RedisNode, to: RedisNode) {
    const [source, target] = [clientOf(from), clientOf(to)];
    const [sourceId, targetId] = await Promise.all(
      [source, target].map((client) => client.call('CLUSTER', 'MYID').then(String)),
    );
    const setSlot = (client: Redis, state: string, id: string | undefined) =>
      client.call('CLUSTER', 'SETSLOT', slot, state, id ?? '');
    await setSlot(target, 'IMPORTING', sourceId);
    await setSlot(source, 'MIGRATING', targetId);
    // A key may be over before it has moved, or come meanwhile.
    for (
      let keys = await keysIn(source, slot);
      keys.length > 0;
      keys = await keysIn(source, slot)
    ) {
      for (const key of keys) {
        await source.call('MIGRATE', '127.0.0.1', to.port, key, 0, MIGRATE_TIMEOUT_MS);
        await sleep(BETWEEN_KEYS_MS);
      }
    }
    // The target first: once the source redirects, it must know that the slot is its own. Then all: one that still
    // believes in the source may talk the target out of the slot, whose keys are then dropped.
    await setSlot(target, 'NODE', targetId);
    await setSlot(source, 'NODE', targetId);
    for (const { master } of await shards()) await setSlot(clientOf(master), 'NODE', targetId);
  }

  await form(members);
  const settled = async () =>
    void (await until('the nodes are one cluster', async () =>
      (
        await Promise.all(members.map(({ client }) => knowsAll(client, nodes.length)))
      ).every(Boolean),
    ));
  await settled();
  const everything = unlessItForms.move();
  return {
    nodes,
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    shards,
    failOver: async (replica) => void (await clientOf(replica).call('CLUSTER', 'FAILOVER')),
    moveSlot,
    settled,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function freePortWithBus(): Promise<number> {
  while (true) {
    const port = await freePort();
    if (await takePort(port + BUS_PORT_OFFSET)) return port;
  }
}

async function startNode(nodeTimeoutMs: number): Promise<RedisNode> {
  return startRedisNode({
    port: await freePortWithBus(),
    args: (port) => [
      ...['--port', String(port), ...IN_MEMORY],
      ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs)],
      // A node that nobody met yet does not know its own address, and would send clients to an empty one.
      ...['--cluster-announce-ip', '127.0.0.1'],
      // With one node down, the others go on with their slots.
      ...['--cluster-require-full-coverage', 'no'],
      // By default a master waits five seconds for more replicas before it sends its data.
      ...['--repl-diskless-sync-delay', '0'],
    ],
  });
}

async function form(members: readonly Member[]): Promise<void> {
  const masters = members.slice(0, MASTERS);
  for (const [i, { client }] of masters.entries()) {
    const slots = Array.from(
      { length: firstSlot(i + 1) - firstSlot(i) },
      (_, n) => firstSlot(i) + n,
    );
    await client.call('CLUSTER', 'ADDSLOTS', ...slots);
    // Masters that start with the same epoch would first have to settle whose is whose.
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
  for (const [i, { client }] of members.entries()) {
    // Each meets each, so that none has to wait for gossip.
    for (const { server } of members.slice(i + 1)) {
      await client.call('CLUSTER', 'MEET', '127.0.0.1', server.port);
    }
  }
  for (const [i, { client }] of members.slice(MASTERS).entries()) {
    const masterId = String(await masters[i]?.client.call('CLUSTER', 'MYID'));
    await until('the replica knows its master', async () => {
      return (await client.call('CLUSTER', 'REPLICATE', masterId)) === 'OK';
    });
  }
}

function firstSlot(master: number): number {
  return Math.floor((master * SLOTS) / MASTERS);
}

/** A line of CLUSTER NODES: id, address, flags, master, three numbers, state of the link, then what slots it has. */
function readNode(line: string) {
  const [id = '', address = '', , masterId = '', , , , , ...slots] = line.split(' ');
  return {
    id,
    masterId,
    port: Number(/:(\d+)@/.exec(address)?.[1]),
    // Those in square brackets are on the move.
    slots: slots
      .filter((range) => !range.startsWith('['))
      .map((range) => range.split('-').map(Number))
      .map(([first = 0, last = first]) => [first, last] as const),
  };
}

async function keysIn(client: Redis, slot: number): Promise<string[]> {
  return (await client.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
}

async function knowsAll(client: Redis, size: number): Promise<boolean> {
  const info = String(await client.call('CLUSTER', 'INFO')).split('\r\n');
  const nodes = String(await client.call('CLUSTER', 'NODES'));
  const replication = await client.info('replication');
  // Without full coverage a node is `ok` with its own slots alone.
  const wanted = [
    'cluster_state:ok',
    `cluster_slots_ok:${SLOTS}`,
    `cluster_known_nodes:${size}`,
    `cluster_size:${MASTERS}`,
  ];
  const replicas = nodes.match(/\bslave\b/g) ?? [];
  return (
    wanted.every((line) => info.includes(line)) &&
    !/fail|handshake/.test(nodes) &&
    replicas.length === size - MASTERS &&
    (size === MASTERS || /^master_link_status:up|^slave0:.*state=online/m.test(replication))
  );
}
