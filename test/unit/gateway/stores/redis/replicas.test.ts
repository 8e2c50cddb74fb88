import { expect, test } from 'vitest';
import { StoreError } from '../../../../../src/gateway/core/counting/store.ts';
import type { Sender } from '../../../../../src/gateway/stores/redis/counting-connection.ts';
import { createReplicas, HEARTBEAT_MS } from '../../../../../src/gateway/stores/redis/peers.ts';

/** The hash of heartbeats, without a server. */
function setUp(assumed: number) {
  const clock = { nowMs: 0 };
  const others = new Set<string>();
  const connection: Sender = {
    send: ([, , , , name], { onReply }) => onReply([name, ...others]),
  };
  const replicas = createReplicas({
    connection,
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

test('other gateways count from their first heartbeat until they have certainly stopped', async () => {
  const { replicas, others, beatFor } = setUp(1);
  for (const name of ['a', 'b', 'c']) others.add(name);
  await beatFor(1);
  expect(replicas.place().count).toBe(4);
  await beatFor(1);
  others.delete('c');
  await beatFor(1);
  expect(replicas.place().count).toBe(3);
});

test('after Redis was down, missing heartbeats do not enlarge a share', async () => {
  const { replicas, others, beatFor } = setUp(1);
  for (const name of ['a', 'b', 'c']) others.add(name);
  await beatFor(3);
  others.clear();
  replicas.lostTouch();
  await beatFor(1);
  expect(replicas.place().count).toBe(4);
  others.add('a');
  await beatFor(1);
  expect(replicas.place().count).toBe(2);
});

test('the configured number of gateways applies until heartbeats have settled', async () => {
  const { replicas, others, beatFor } = setUp(4);
  expect(replicas.place().count).toBe(4);
  others.add('a');
  await beatFor(1);
  expect(replicas.place().count).toBe(4);
  await beatFor(1);
  expect(replicas.place().count).toBe(2);
});

test.each([
  ['nulls', [null, null]],
  ['numbers', [1, 2, 3]],
  ['other gateways', ['a', 'b']],
  ['an empty list', []],
  ['an integer', 1],
])('a reply that is not the list of gateways changes no share: %s', async (_, reply) => {
  const replicas = createReplicas({
    connection: { send: (_, { onReply }) => onReply(reply) },
    assumed: { count: 1, rank: 0 },
    now: () => 0,
  });
  await expect(replicas.beat()).rejects.toThrow(StoreError);
  expect(replicas.place()).toEqual({ count: 1, rank: 0 });
});
