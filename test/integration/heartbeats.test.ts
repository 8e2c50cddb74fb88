/** The heartbeats of gateways on a real Redis. */
import { expect } from 'vitest';
import { overIoredis } from '../../src/gateway/stores/redis/counting-connection.ts';
import { createReplicas } from '../../src/gateway/stores/redis/peers.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';
import { connectClient } from '../support/stores.ts';

const HEARTBEATS = 'hg:v1:replicas';
const HOUR_MS = 3_600_000;

testWithRedis(
  'a report of an hour ago or, if the clock was set back, of the future is of no gateway',
  async () => {
    await using redis = await startRedis();
    const client = await connectClient(redis.url);
    const connection = overIoredis(client);
    const assumed = { count: 1, rank: 0 };
    const replicas = createReplicas({ connection, assumed, now: Date.now });
    const nowMs = Date.now();
    const reports = { alive: nowMs, dead: nowMs - HOUR_MS, future: nowMs + HOUR_MS };
    await client.hset(HEARTBEATS, reports);
    await replicas.beat();
    expect(replicas.place().count).toBe(2);
    const names = await client.hkeys(HEARTBEATS);
    expect(names).toHaveLength(2);
    expect(names).toContain('alive');
    client.disconnect();
  },
);
