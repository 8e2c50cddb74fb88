import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { parseRedisUrl } from '../../../../../src/gateway/config/settings/redis-url.ts';
import type { Connection } from '../../../../../src/gateway/stores/redis/client.ts';
import {
  callRedis,
  whenAllReady,
} from '../../../../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../../../../src/gateway/stores/redis/redis-store.ts';
import { openCountingConnection } from '../../../../../src/gateway/stores/redis/resp/resp-client.ts';
import { describeCountingConnection } from '../../../../contract/counting-connection.contract.ts';
import { waitUntil } from '../../../../support/eventually.ts';
import { startFakeRedis } from '../../../../support/fake-redis.ts';
import { descriptorOf } from '../../../../support/quotas.ts';
import { scriptedClient } from '../../../../support/scripted-redis-client.ts';
import { WAYS } from '../../../../support/stores.ts';

for (const way of WAYS) describeCountingConnection(way);

class Changing extends EventEmitter {
  status = 'connecting';

  become(status: string): void {
    this.status = status;
    this.emit(status);
  }

  disconnect(): void {}
}

test('contact is made once all connections are ready, and again with each new one', () => {
  const [one, other] = [new Changing(), new Changing()];
  const act = vi.fn();
  whenAllReady([one, other] as readonly Connection[], act);
  one.become('ready');
  expect(act).not.toHaveBeenCalled();
  other.become('ready');
  expect(act).toHaveBeenCalledTimes(1);
  one.become('connecting');
  other.become('ready');
  expect(act).toHaveBeenCalledTimes(1);
  one.become('ready');
  expect(act).toHaveBeenCalledTimes(2);
});

test.each(['redis+sentinel://127.0.0.1/mymaster', 'redis+cluster://127.0.0.1'])(
  'takes go over the client of %s',
  async (url) => {
    const { client, sent, disconnects } = scriptedClient(() => 'PONG');
    const target = parseRedisUrl(url);
    const options = { target, client, deadlineMs: 50, onError: () => {} };
    const connection = openCountingConnection(options);
    expect(await callRedis(connection, 'ping')).toBe('PONG');
    expect(connection.status).toBe('ready');
    connection.disconnect(true);
    expect(sent.map(({ name }) => name)).toEqual(['ping']);
    expect(disconnects).toEqual([true]);
  },
);

test('if the server became a replica, the other connection is replaced, too', async () => {
  await using fake = await startFakeRedis();
  fake.misbehave(({ name, socket }) => name === 'take' && socket.write('-READONLY replica\r\n'));
  const { client, disconnects } = scriptedClient(() => 1);
  const options = { target: parseRedisUrl(fake.url), client, deadlineMs: 5_000 };
  const connection = openCountingConnection({ ...options, onError: () => {} });
  await waitUntil('ready', async () => connection.status === 'ready');
  const store = new RedisStore({ connection, inFlight: createInFlight(10), deadlineMs: 5_000 });
  const taken = store.take([descriptorOf('a', { limit: 2, windowMs: 1_000 })]);
  await expect(taken).rejects.toMatchObject({ reason: 'readonly' });
  expect(disconnects).toEqual([true]);
  connection.disconnect();
});

test('peeks, resets, heartbeats and probes go over it, with text for strings', async () => {
  await using fake = await startFakeRedis();
  const commands: string[][] = [];
  fake.misbehave(({ name, words }) => {
    if (!['hello', 'client', 'info'].includes(name)) commands.push([...words]);
    return false;
  });
  const { client } = scriptedClient(() => 1);
  const options = { target: parseRedisUrl(fake.url), client, deadlineMs: 5_000 };
  const connection = openCountingConnection({ ...options, onError: () => {} });
  await waitUntil('ready', async () => connection.status === 'ready');
  expect(await callRedis(connection, 'ping')).toBe('PONG');
  expect(await callRedis(connection, 'eval', 'script', 1, 'key', 'me', 7)).toEqual(['me']);
  expect(await callRedis(connection, 'del', 'key')).toBe(0);
  expect(await callRedis(connection, 'publish', 'channel', 'é')).toBe(0);
  const inUtf8 = Buffer.from('é').toString('latin1');
  expect(commands).toEqual([
    ['ping'],
    ['eval', 'script', '1', 'key', 'me', '7'],
    ['del', 'key'],
    ['publish', 'channel', inUtf8],
  ]);
  connection.disconnect();
  await expect(callRedis(connection, 'ping')).rejects.toMatchObject({ reason: 'connection' });
});
