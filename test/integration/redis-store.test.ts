/** The Redis store by itself, on a server that stops answering. */
import { expect, test } from 'vitest';
import { StoreError } from '../../src/core/store.ts';
import { createRedisClient } from '../../src/stores/redis/client.ts';
import { RedisStore } from '../../src/stores/redis/redis-store.ts';
import { connectTo, startRedis } from '../support/redis.ts';

const DESCRIPTOR = { key: 'hg:v1:{x}:a', limit: 100_000, windowMs: 60_000, cost: 1 };

async function open(url: string, deadlineMs: number) {
  const client = createRedisClient(url, () => {});
  await new Promise((resolve) => client.once('ready', resolve));
  return { client, store: new RedisStore({ client, deadlineMs }) };
}

const reasonOf = (error: unknown) => (error instanceof StoreError ? error.reason : 'none');

test('a server that hangs fills no memory: what exceeds the cap is refused at once', async () => {
  await using redis = await startRedis();
  const { client, store } = await open(redis.url, 50);
  redis.process?.signal('SIGSTOP');
  const takes = Array.from({ length: 6_000 }, () => store.take([DESCRIPTOR]).catch(reasonOf));
  const reasons = await Promise.all(takes);
  expect(reasons.filter((reason) => reason === 'overloaded')).toHaveLength(1_000);
  expect(reasons.filter((reason) => reason === 'timeout')).toHaveLength(5_000);
  // The cap counts what waits, not what ever waited.
  expect(await store.take([DESCRIPTOR]).catch(reasonOf)).not.toBe('overloaded');
  redis.process?.signal('SIGCONT');
  client.disconnect();
});

test('a request whose answer is lost with its connection is counted once', async () => {
  await using redis = await startRedis();
  const { client, store } = await open(redis.url, 2_000);
  const witness = connectTo(redis);
  let counted = 0;
  for (let i = 1; i <= 20; i++) {
    const taken = store.take([DESCRIPTOR]).catch(reasonOf);
    // It was sent, and then the connection goes before the answer is read.
    await new Promise((resolve) => setImmediate(resolve));
    client.stream.destroy();
    expect(await taken).toBe('connection');
    await new Promise((resolve) => client.once('ready', resolve));
    counted = await witness.llen(DESCRIPTOR.key);
    expect(counted).toBeLessThanOrEqual(i);
  }
  // Most were carried out before the connection went: that is the case in question.
  expect(counted).toBeGreaterThan(0);
  witness.disconnect();
  client.disconnect();
});
