/** A real master with a replica, and three sentinels that make the replica master when two miss the master. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { waitUntil } from './eventually.ts';
import { freePort } from './process.ts';
import { connectTo, startRedisInFolder, type TestRedis, temporaryFolder } from './redis.ts';
import { IN_MEMORY } from './redis-server.ts';

export interface TestRedisSentinel extends AsyncDisposable {
  /** Names the sentinels: `redis+sentinel://127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002/mymaster`. */
  readonly url: string;
  /** Of the server that is master at first. */
  readonly masterPort: number;
  readonly replicaPort: number;
  /** Kills the first master. The sentinels take some seconds to replace it. */
  stopMaster(): Promise<void>;
}

const MASTER_NAME = 'mymaster';
const SENTINELS = 3;

export async function startRedisSentinel(): Promise<TestRedisSentinel> {
  await using unlessItForms = new AsyncDisposableStack();
  await using clients = new AsyncDisposableStack();
  const connect = (server: TestRedis) =>
    clients.adopt(connectTo(server), (open) => open.disconnect());

  const master = unlessItForms.use(await startData(await freePort()));
  const replica = unlessItForms.use(await startData(await freePort(), master));
  const masterClient = connect(master);
  // Sentinels ask a master for its replicas every ten seconds only: their first question must find it.
  await waitUntil('the replica follows', () => hasReplica(masterClient));

  const sentinels: TestRedis[] = [];
  for (let i = 0; i < SENTINELS; i++) {
    sentinels.push(unlessItForms.use(await startSentinel(await freePort(), master)));
  }
  const sentinelClients = sentinels.map(connect);
  await waitUntil('the sentinels know all servers', async () =>
    (await Promise.all(sentinelClients.map(knowsAll))).every(Boolean),
  );

  const servers = unlessItForms.move();
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`);
  return {
    url: `redis+sentinel://${addresses.join(',')}/${MASTER_NAME}`,
    masterPort: master.port,
    replicaPort: replica.port,
    stopMaster: async () => void (await master.stop('SIGKILL')),
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

function startData(port: number, master?: TestRedis): Promise<TestRedis> {
  return startRedisInFolder(temporaryFolder(), port, [
    ...['--port', String(port), ...IN_MEMORY],
    // By default a master waits five seconds for more replicas before it sends its data.
    ...['--repl-diskless-sync-delay', '0'],
    ...(master === undefined ? [] : ['--replicaof', '127.0.0.1', String(master.port)]),
  ]);
}

/** A sentinel insists on a file, where it writes down what it learns. */
function startSentinel(port: number, master: TestRedis): Promise<TestRedis> {
  const folder = temporaryFolder();
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} 500`,
    `sentinel failover-timeout ${MASTER_NAME} 2000`,
  ];
  writeFileSync(join(folder, 'sentinel.conf'), `${lines.join('\n')}\n`);
  return startRedisInFolder(folder, port, ['sentinel.conf', '--sentinel']);
}

async function hasReplica(master: Redis): Promise<boolean> {
  return /^slave0:.*state=online/m.test(await master.info('replication'));
}

/** With the state of the replica's link too: none is chosen as master before it is known. */
async function knowsAll(sentinel: Redis): Promise<boolean> {
  const master = fields(await sentinel.call('SENTINEL', 'MASTER', MASTER_NAME));
  const replicas = (await sentinel.call('SENTINEL', 'REPLICAS', MASTER_NAME)) as unknown[];
  return (
    master['num-slaves'] === '1' &&
    master['num-other-sentinels'] === String(SENTINELS - 1) &&
    replicas.map(fields).every((replica) => replica['master-link-status'] === 'ok')
  );
}

/** From name, value, name, value. */
function fields(reply: unknown): Record<string, string> {
  const flat = reply as string[];
  return Object.fromEntries(
    flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : [])),
  );
}
