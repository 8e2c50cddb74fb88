/** A real cluster of three masters without replicas, formed as `redis-cli --cluster create` would. */
import type { Redis } from 'ioredis';
import { waitUntil } from './eventually.ts';
import { freePort } from './process.ts';
import { connectTo, startRedisInFolder, type TestRedis, temporaryFolder } from './redis.ts';
import { IN_MEMORY } from './redis-server.ts';

export interface TestRedisCluster extends AsyncDisposable {
  /** In the order of their slots, of which each has a third. */
  readonly nodes: readonly TestRedis[];
  /** Names all of them: `redis+cluster://127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002`. */
  readonly url: string;
}

interface Node {
  readonly server: TestRedis;
  readonly busPort: number;
  readonly client: Redis;
}

const SIZE = 3;
const SLOTS = 16_384;

/** Takes two seconds at least: a master that was just started accepts nothing before. */
export async function startRedisCluster(): Promise<TestRedisCluster> {
  await using unlessItForms = new AsyncDisposableStack();
  await using clients = new AsyncDisposableStack();
  const nodes: Node[] = [];
  for (let i = 0; i < SIZE; i++) {
    const [port, busPort] = [await freePort(), await freePort()];
    const server = unlessItForms.use(await startNode(port, busPort));
    const client = clients.adopt(connectTo(server), (open) => open.disconnect());
    nodes.push({ server, busPort, client });
  }
  await form(nodes);
  const servers = unlessItForms.move();
  return {
    nodes: nodes.map(({ server }) => server),
    url: `redis+cluster://${nodes.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}`,
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

function startNode(port: number, busPort: number): Promise<TestRedis> {
  return startRedisInFolder(temporaryFolder(), port, [
    ...['--port', String(port), ...IN_MEMORY],
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'],
    // By default the port plus 10000, which may be taken or above 65535.
    ...['--cluster-port', String(busPort)],
    // A node that nobody met yet does not know its own address, and would send clients to an empty one.
    ...['--cluster-announce-ip', '127.0.0.1'],
    // With one node down, the others go on with their slots.
    ...['--cluster-require-full-coverage', 'no'],
  ]);
}

async function form(nodes: readonly Node[]): Promise<void> {
  for (const [i, { client }] of nodes.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(i), firstSlot(i + 1) - 1);
    // Masters that start with the same epoch would first have to settle whose is whose.
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
  for (const [i, { client }] of nodes.entries()) {
    // Each meets each, so that none has to wait for gossip.
    for (const { server, busPort } of nodes.slice(i + 1)) {
      await client.call('CLUSTER', 'MEET', '127.0.0.1', server.port, busPort);
    }
  }
  await waitUntil('the nodes are one cluster', async () =>
    (await Promise.all(nodes.map(({ client }) => knowsAll(client)))).every(Boolean),
  );
}

function firstSlot(node: number): number {
  return Math.floor((node * SLOTS) / SIZE);
}

async function knowsAll(client: Redis): Promise<boolean> {
  const info = String(await client.call('CLUSTER', 'INFO')).split('\r\n');
  // Without full coverage a node is `ok` with its own slots alone.
  return [
    'cluster_state:ok',
    `cluster_slots_ok:${SLOTS}`,
    `cluster_known_nodes:${SIZE}`,
    `cluster_size:${SIZE}`,
  ].every((line) => info.includes(line));
}
