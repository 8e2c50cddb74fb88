/** A real master with a replica, and three sentinels that make the replica master when two miss the master. */
import type { Redis } from 'ioredis';
import { lookAt, type RedisNode, startRedisNode, until } from './redis-node.ts';
import { IN_MEMORY } from './redis-server.ts';

export interface TestRedisSentinel extends AsyncDisposable {
  /** Names the sentinels: `redis+sentinel://user:password@127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002/mymaster`. */
  readonly url: string;
  /** As the sentinels see it now. */
  roles(): Promise<{ readonly master: RedisNode; readonly replica: RedisNode }>;
  /** The sentinels make the replica master, while the master is there. */
  failOver(): Promise<void>;
  /** From the sentinels and its replica, not from its clients. */
  cutOff(master: RedisNode): Promise<void>;
  joinAgain(server: RedisNode): Promise<void>;
  /** What to start a server with that was master. */
  replicaArgs(server: RedisNode, master: RedisNode): readonly string[];
  /** Resolves once the replica follows the master, and all sentinels know that. */
  settled(): Promise<void>;
}

const MASTER_NAME = 'mymaster';
const SENTINELS = 3;
/** Clients have an account of their own, so that the servers can be cut off from each other. */
const CLIENT = 'client';
const ACCOUNT = `${CLIENT}:any`;

export async function startRedisSentinel(): Promise<TestRedisSentinel> {
  await using unlessItForms = new AsyncDisposableStack();
  const connect = (node: RedisNode) =>
    unlessItForms.adopt(lookAt(node), (open) => open.disconnect());

  const first = unlessItForms.use(await startRedisNode({ account: ACCOUNT, args: dataArgs }));
  const second = unlessItForms.use(
    await startRedisNode({
      account: ACCOUNT,
      args: (port) => [...dataArgs(port), ...following(first)],
    }),
  );
  const servers = [first, second];
  const clients = new Map(servers.map((server) => [server, connect(server)]));
  const clientOf = (server: RedisNode) => clients.get(server) as Redis;
  // Sentinels ask a master for its replicas every ten seconds only: their first question must find it.
  await until('the replica follows', () => hasReplica(clientOf(first)));

  const sentinels: RedisNode[] = [];
  for (let i = 0; i < SENTINELS; i++) {
    sentinels.push(unlessItForms.use(await startSentinel(first)));
  }
  const sentinelClients = sentinels.map(connect);
  const [asked] = sentinelClients as [Redis, ...Redis[]];
  await Promise.all(sentinelClients.map(hurry));

  async function roles() {
    const [, port] = (await asked.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME)) as [
      string,
      string,
    ];
    const [master, replica] = first.port === Number(port) ? [first, second] : [second, first];
    return { master, replica };
  }

  async function settled() {
    await until('the sentinels know a master that its replica follows', async () => {
      const { master } = await roles();
      const known = await Promise.all(sentinelClients.map((each) => knowsAll(each, master)));
      return known.every(Boolean) && (await hasReplica(clientOf(master)));
    });
  }

  await settled();
  const everything = unlessItForms.move();
  return {
    url: `redis+sentinel://${ACCOUNT}@${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER_NAME}`,
    roles,
    failOver: async () => void (await asked.call('SENTINEL', 'FAILOVER', MASTER_NAME)),
    async cutOff(master) {
      await clientOf(master).call('ACL', 'SETUSER', 'default', '-@all');
      await clientOf(master).call('CLIENT', 'KILL', 'TYPE', 'REPLICA');
    },
    joinAgain: async (server) =>
      void (await clientOf(server).call('ACL', 'SETUSER', 'default', '+@all')),
    replicaArgs: ({ port }, master) => [...dataArgs(port), ...following(master)],
    settled,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

function dataArgs(port: number): readonly string[] {
  return [
    ...['--port', String(port), ...IN_MEMORY],
    // By default a master waits five seconds for more replicas before it sends its data.
    ...['--repl-diskless-sync-delay', '0'],
    ...['--user', CLIENT, 'on', 'nopass', '~*', '&*', '+@all'],
  ];
}

function following({ port }: RedisNode): readonly string[] {
  return ['--replicaof', '127.0.0.1', String(port)];
}

/** A sentinel insists on a file, where it writes down what it learns. */
function startSentinel(master: RedisNode): Promise<RedisNode> {
  const lines = [
    'bind 127.0.0.1',
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} 500`,
    `sentinel failover-timeout ${MASTER_NAME} 2000`,
  ];
  return startRedisNode({
    args: () => ['sentinel.conf', '--sentinel'],
    files: (port) => ({ 'sentinel.conf': [`port ${port}`, ...lines, ''].join('\n') }),
  });
}

/** By default what was master before is told so after ten to twenty seconds. Servers before 7.0 cannot be hurried. */
async function hurry(sentinel: Redis): Promise<void> {
  const periods = ['INFO-PERIOD', '1000', 'PUBLISH-PERIOD', '750'];
  await sentinel.call('SENTINEL', 'DEBUG', ...periods).catch(() => {});
}

async function hasReplica(master: Redis): Promise<boolean> {
  return /^slave0:.*state=online/m.test(await master.info('replication'));
}

/** With the state of the replica's link too: none is chosen as master before it is known. */
async function knowsAll(sentinel: Redis, { port }: RedisNode): Promise<boolean> {
  const master = fields(await sentinel.call('SENTINEL', 'MASTER', MASTER_NAME));
  const replicas = (await sentinel.call('SENTINEL', 'REPLICAS', MASTER_NAME)) as unknown[];
  return (
    master.port === String(port) &&
    master.flags === 'master' &&
    master['num-slaves'] === '1' &&
    master['num-other-sentinels'] === String(SENTINELS - 1) &&
    replicas
      .map(fields)
      .every(({ flags, ...replica }) => flags === 'slave' && replica['master-link-status'] === 'ok')
  );
}

/** From name, value, name, value. */
function fields(reply: unknown): Record<string, string> {
  const flat = reply as string[];
  return Object.fromEntries(
    flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : [])),
  );
}
