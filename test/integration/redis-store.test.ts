/** The Redis store, without a gateway, on a server that stops answering. */
import { connect, createServer } from 'node:net';
import { expect } from 'vitest';
import { StoreError } from '../../src/gateway/core/counting/store.ts';
import { createInFlight, RedisStore } from '../../src/gateway/stores/redis/redis-store.ts';
import { waitUntil } from '../support/eventually.ts';
import { listenLocally } from '../support/local-server.ts';
import { freePort } from '../support/ports.ts';
import { descriptorOf } from '../support/quotas.ts';
import {
  connectTo,
  startRedis,
  startRedisInFolder,
  temporaryFolder,
  testWithOwnRedis,
  testWithRedis,
} from '../support/redis.ts';
import { IN_MEMORY } from '../support/redis-server.ts';
import { connectStore } from '../support/stores.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const DESCRIPTOR = descriptorOf('hg:v1:{x}:a', { limit: 100_000, windowMs: 60_000 });

async function open(url: string, deadlineMs: number) {
  const connected = await connectStore(url);
  const inFlight = createInFlight(5_000);
  return { ...connected, store: new RedisStore({ ...connected, inFlight, deadlineMs }) };
}

const reasonOf = (error: unknown) => (error instanceof StoreError ? error.reason : 'none');

testWithOwnRedis('refuses takes beyond the cap at once while Redis hangs', async () => {
  await using redis = await startRedis();
  const { disconnect, store } = await open(redis.url, 50);
  redis.signal('SIGSTOP');
  const takes = Array.from({ length: 6_000 }, () => store.take([DESCRIPTOR]).catch(reasonOf));
  const reasons = await Promise.all(takes);
  expect(reasons.filter((reason) => reason === 'overloaded')).toHaveLength(1_000);
  expect(reasons.filter((reason) => reason === 'timeout')).toHaveLength(5_000);
  // Takes that have timed out no longer count.
  expect(await store.take([DESCRIPTOR]).catch(reasonOf)).not.toBe('overloaded');
  redis.signal('SIGCONT');
  disconnect();
});

testWithRedis('counts a request once if its reply is lost with the connection', async () => {
  await using redis = await startRedis();
  await using proxy = await startTcpProxy(redis.port);
  const { connection, disconnect, store } = await open(`redis://127.0.0.1:${proxy.port}`, 2_000);
  // The server now knows the script, so the next reply is the reply to a take.
  await store.take([DESCRIPTOR]);
  for (let i = 0; i < 15; i++) {
    const reconnected = new Promise((resolve) =>
      connection.once('ready', () => resolve(undefined)),
    );
    proxy.loseNextReply();
    expect(await store.take([DESCRIPTOR]).catch(reasonOf)).toBe('connection');
    await reconnected;
  }
  const witness = connectTo(redis);
  expect(await witness.llen(DESCRIPTOR.key)).toBe(16);
  witness.disconnect();
  disconnect();
});

testWithOwnRedis(
  'finds the new master, though the old one goes on answering as a replica',
  async () => {
    // A replica writes what it gets from its master into its folder.
    const startInFolder = async () => {
      const port = await freePort();
      return startRedisInFolder(temporaryFolder(), port, [...IN_MEMORY, '--port', `${port}`]);
    };
    await using old = await startInFolder();
    await using next = await startInFolder();
    let master = old.port;
    /** An address that leads to the master, such as a name or a Service of Kubernetes. */
    const server = createServer((connection) => {
      const target = connect(master, '127.0.0.1');
      for (const each of [connection, target]) each.on('error', () => {});
      connection.pipe(target).pipe(connection);
      connection.on('close', () => target.destroy());
    });
    await using address = await listenLocally(server);
    const { disconnect, store } = await open(`redis://127.0.0.1:${address.port}`, 2_000);
    expect((await store.take([DESCRIPTOR])).admitted).toBe(true);
    const administrator = connectTo(old);
    await administrator.replicaof('127.0.0.1', next.port);
    master = next.port;
    expect(await store.take([DESCRIPTOR]).catch(reasonOf)).toBe('readonly');
    await waitUntil('the new master counts', async () => {
      const answer = await store.take([DESCRIPTOR]).catch(reasonOf);
      return typeof answer === 'object' && answer.admitted;
    });
    administrator.disconnect();
    disconnect();
  },
);
