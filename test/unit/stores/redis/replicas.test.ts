import { expect, test } from 'vitest';
import type { RedisClient } from '../../../../src/stores/redis/client.ts';
import { HEARTBEAT_MS, Replicas } from '../../../../src/stores/redis/replicas.ts';

/** The hash of heartbeats, without a server. */
function setUp(assumed: number) {
  const clock = { nowMs: 0 };
  const others = new Set<string>();
  const client = { eval: async (...args: unknown[]) => [args[3], ...others] };
  const replicas = new Replicas({
    client: client as unknown as RedisClient,
    assumed: { count: assumed, rank: 0 },
    now: () => clock.nowMs,
  });
  const beatFor = async (times: number) => {
    for (let i = 0; i < times; i++) {
      clock.nowMs += HEARTBEAT_MS;
      await replicas.beat();
    }
  };
  return { replicas, others, beatFor };
}

test('others count as soon as they are heard of, and until it is certain that they are gone', async () => {
  const { replicas, others, beatFor } = setUp(1);
  for (const name of ['a', 'b', 'c']) others.add(name);
  await beatFor(1);
  expect(replicas.place.count).toBe(4);
  await beatFor(1);
  others.delete('c');
  await beatFor(1);
  expect(replicas.place.count).toBe(3);
});

test('a Redis that was away has not heard of all: nobody takes a larger share for that', async () => {
  const { replicas, others, beatFor } = setUp(1);
  for (const name of ['a', 'b', 'c']) others.add(name);
  await beatFor(3);
  others.clear();
  replicas.lostTouch();
  await beatFor(1);
  expect(replicas.place.count).toBe(4);
  others.add('a');
  await beatFor(1);
  expect(replicas.place.count).toBe(2);
});

test('as many as are assumed count until Redis has been asked for long enough', async () => {
  const { replicas, others, beatFor } = setUp(4);
  expect(replicas.place.count).toBe(4);
  others.add('a');
  await beatFor(1);
  expect(replicas.place.count).toBe(4);
  await beatFor(1);
  expect(replicas.place.count).toBe(2);
});
