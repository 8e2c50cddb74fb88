/** The connection over which takes go, on a real Redis: accounts, certificates, sockets, restarts and lost scripts. */
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { StoreError } from '../../src/gateway/core/counting/store.ts';
import { createInFlight, RedisStore } from '../../src/gateway/stores/redis/redis-store.ts';
import { createAuthority } from '../support/certificates.ts';
import { waitUntil } from '../support/eventually.ts';
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
import { startTlsRedis } from '../support/redis-tls.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { type ConnectOptions, openConnections, WAYS } from '../support/stores.ts';

const KEY = 'hg:v1:{x}:é';
const DESCRIPTOR = descriptorOf(KEY, { limit: 100_000, windowMs: 3_600_000 });

describe.each(WAYS)('over %s', (way) => {
  function open(url: string, options: ConnectOptions = {}) {
    const errors: Error[] = [];
    const onError = (error: Error) => void errors.push(error);
    const deadlineMs = 5_000;
    const connected = openConnections(url, { way, deadlineMs, onError, ...options });
    const { connection } = connected;
    const store = new RedisStore({ connection, inFlight: createInFlight(100), deadlineMs });
    const take = () =>
      store.take([DESCRIPTOR]).then(
        ({ states }) => states[0]?.remaining,
        (error: unknown) => (error instanceof StoreError ? error.reason : String(error)),
      );
    const counts = () => waitUntil('it counts', async () => typeof (await take()) === 'number');
    return { ...connected, errors, take, counts, [Symbol.dispose]: connected.disconnect };
  }

  testWithRedis('the account that is shipped suffices', async () => {
    await using redis = await startRedis();
    await addShippedAccount(redis);
    using lab = open(byShippedAccount(redis.url));
    await lab.counts();
    expect(lab.errors).toEqual([]);
    const admin = connectTo(redis);
    const clients = String(await admin.client('LIST'));
    expect(clients).toMatch(/ name=headgate .* user=headgate /);
    admin.disconnect();
  });

  testWithRedis('a right that is missing is named in each refusal', async () => {
    await using redis = await startRedis();
    const admin = connectTo(redis);
    await admin.call('ACL', 'SETUSER', 'bare', 'on', '>secret', '~*', '-@all', '+hello', '+info');
    using lab = open(redis.url.replace('://', '://bare:secret@'));
    await waitUntil('it is connected', async () => lab.connection.status === 'ready');
    expect(await lab.take()).toBe('noperm');
    admin.disconnect();
  });

  testWithRedis(
    'a password that changes breaks the next connection, until it is right',
    async () => {
      await using redis = await startRedis();
      const admin = connectTo(redis);
      await admin.call('ACL', 'SETUSER', 'changing', 'on', '>old', '~*', '+@all');
      using lab = open(redis.url.replace('://', '://changing:old@'));
      await lab.counts();
      // Redis closes the connections of an account whose password is reset.
      await admin.call('ACL', 'SETUSER', 'changing', 'resetpass', '>new');
      await admin.call('CLIENT', 'KILL', 'USER', 'changing');
      await waitUntil('it is refused', async () =>
        lab.errors.some(({ message }) => message.startsWith('WRONGPASS')),
      );
      expect(await lab.take()).toBe('connection');
      await admin.call('ACL', 'SETUSER', 'changing', '>old');
      await lab.counts();
      admin.disconnect();
    },
  );

  testWithRedis('a password that is required and missing is reported', async () => {
    await using redis = await startRedis();
    const admin = connectTo(redis);
    await admin.config('SET', 'requirepass', 'secret');
    using lab = open(redis.url);
    await waitUntil('it is refused', async () => lab.errors.length > 0);
    expect(lab.errors[0]?.message).toMatch(/^NOAUTH/);
    using right = open(redis.url.replace('://', '://:secret@'));
    await right.counts();
    admin.disconnect();
  });

  testWithRedis('keys are counted in the database of the URL', async () => {
    await using redis = await startRedis();
    using lab = open(`${redis.url}/3`);
    await lab.counts();
    const witness = connectTo(redis);
    expect(await witness.exists(KEY)).toBe(0);
    await witness.select(3);
    expect(await witness.llen(KEY)).toBe(1);
    witness.disconnect();
  });

  testWithRedis('a database that the server lacks ends it', async () => {
    await using redis = await startRedis();
    using lab = open(`${redis.url}/999`);
    await waitUntil('it ended', async () => lab.connection.status === 'end');
    expect(await lab.take()).toBe('connection');
    expect(lab.errors[0]?.message).toContain('DB index');
  });

  testWithRedis('a script cache that was emptied loses and doubles no count', async () => {
    await using redis = await startRedis();
    using lab = open(redis.url);
    await lab.counts();
    const witness = connectTo(redis);
    const before = Number(await lab.take());
    for (let round = 1; round <= 5; round++) {
      await witness.script('FLUSH');
      const ends = await Promise.all([lab.take(), lab.take()]);
      expect(ends).toEqual([before - 2 * round + 1, before - 2 * round]);
    }
    witness.disconnect();
  });

  testWithOwnRedis('a server that is killed and started again counts again', async () => {
    const port = await freePort();
    const start = () =>
      startRedisInFolder(temporaryFolder(), port, [...IN_MEMORY, '--port', String(port)]);
    const first = await start();
    using lab = open(first.url);
    await lab.counts();
    await first.stop('SIGKILL');
    await waitUntil('it is refused', async () =>
      lab.errors.some((error) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'),
    );
    expect(await lab.take()).toBe('connection');
    await using _again = await start();
    await lab.counts();
    await first[Symbol.asyncDispose]();
  });

  testWithOwnRedis('a frozen server is left, and counts again when it goes on', async () => {
    await using redis = await startRedis();
    using lab = open(redis.url, { deadlineMs: 100 });
    await lab.counts();
    redis.signal('SIGSTOP');
    const end = await lab.take();
    expect(['timeout', 'connection']).toContain(end);
    await waitUntil('the silence is noticed', async () => lab.errors.length > 0);
    redis.signal('SIGCONT');
    await lab.counts();
  });

  testWithOwnRedis('a unix socket is a way, too', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'redis.sock');
    const port = await freePort();
    const args = ['--port', String(port), ...IN_MEMORY, '--unixsocket', path];
    await using _redis = await startRedisInFolder(folder, port, args);
    using lab = open(`unix:${path}`);
    await lab.counts();
    expect(lab.errors).toEqual([]);
  });

  testWithOwnRedis('certificates are read again for each connection', async () => {
    await using redis = await startTlsRedis({ authClients: 'yes' });
    const right = redis.issue('client');
    const folder = temporaryFolder();
    const other = createAuthority(folder).issue('other');
    const used = { certificate: join(folder, 'used.crt'), key: join(folder, 'used.key') };
    const use = ({ certificate, key }: typeof used) => {
      for (const [from, to] of [
        [certificate, used.certificate],
        [key, used.key],
      ] as const) {
        copyFileSync(from, `${to}.new`);
        renameSync(`${to}.new`, to);
      }
    };
    use(other);
    using lab = open(redis.url, { tlsFiles: { ca: redis.caFile, ...used } });
    await waitUntil('it is refused', async () => lab.errors.length > 0);
    use(right);
    await lab.counts();
  });

  testWithOwnRedis('a server with a certificate of nobody is not trusted', async () => {
    await using redis = await startTlsRedis();
    using lab = open(redis.url);
    await waitUntil('it is refused', async () => lab.errors.length > 0);
    expect((lab.errors[0] as NodeJS.ErrnoException).code).toMatch(/SELF_SIGNED|UNABLE_TO/);
    expect(await lab.take()).toBe('connection');
  });
});
