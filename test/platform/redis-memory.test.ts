/** A Redis whose memory fills up: what the banner, the metrics and the log say of it. */
import type { Redis } from 'ioredis';
import { describe } from 'vitest';
import { waitUntil } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { metric } from '../support/metrics.ts';
import { freePort } from '../support/ports.ts';
import {
  connectTo,
  startRedisInFolder,
  temporaryFolder,
  testWithOwnRedis,
} from '../support/redis.ts';
import { IN_MEMORY } from '../support/redis-server.ts';

const start = async (...args: readonly string[]) => {
  const port = await freePort();
  return startRedisInFolder(temporaryFolder(), port, ['--port', `${port}`, ...IN_MEMORY, ...args]);
};
const gatewayOn = ({ url }: { url: string }) => startGateway({ HEADGATE_REDIS_URL: url });

async function logged(gateway: Gateway, event: string): Promise<string> {
  const line = () =>
    gateway
      .output()
      .split('\n')
      .find((each) => each.includes(`"event":"${event}"`));
  await waitUntil(`${event} is logged`, async () => line() !== undefined);
  return line() ?? '';
}

/** Writes keys until Redis evicts, or refuses. */
async function fill(client: Redis): Promise<void> {
  const value = 'x'.repeat(10_000);
  try {
    for (let i = 0; i < 2_000; i++) await client.set(`other:${i}`, value, 'EX', 3_600);
  } catch (error) {
    if (!/^OOM/.test((error as Error).message)) throw error;
  }
}

// The tests mostly wait.
describe.concurrent('a Redis with a maxmemory', () => {
  testWithOwnRedis(
    'that evicts: clients get new limits, which is said at once and as it happens',
    async ({ expect }) => {
      await using redis = await start('--maxmemory', '8mb', '--maxmemory-policy', 'volatile-lru');
      await using gateway = await gatewayOn(redis);
      expect(gateway.output()).toContain(
        'EVICTS COUNTERS when it is full, so clients get new limits: set its maxmemory-policy to noeviction\n',
      );
      expect(await metric(gateway, 'headgate_store_evicted_keys_total')).toBe(0);
      const client = connectTo(redis);
      await fill(client);
      client.disconnect();
      await waitUntil(
        'evicted keys are counted',
        async () => (await metric(gateway, 'headgate_store_evicted_keys_total')) > 0,
      );
      expect(await logged(gateway, 'store_evicted_keys')).toContain('"level":40');
      expect(await logged(gateway, 'store_nearly_full')).toContain('"when_full":"evicts"');
    },
  );

  testWithOwnRedis(
    'that refuses writes: a nearly full memory is reported before',
    async ({ expect }) => {
      await using redis = await start('--maxmemory', '8mb', '--maxmemory-policy', 'noeviction');
      await using gateway = await gatewayOn(redis);
      expect(gateway.output()).not.toContain('EVICTS');
      expect(await metric(gateway, 'headgate_store_memory_used_ratio')).toBeLessThan(0.9);
      const client = connectTo(redis);
      await fill(client);
      client.disconnect();
      await waitUntil(
        'the memory is nearly full',
        async () => (await metric(gateway, 'headgate_store_memory_used_ratio')) > 0.9,
      );
      expect(await logged(gateway, 'store_nearly_full')).toContain('"when_full":"refuses"');
      expect(await metric(gateway, 'headgate_store_evicted_keys_total')).toBe(0);
    },
  );

  testWithOwnRedis('no maxmemory: nothing is reported', async ({ expect }) => {
    await using redis = await start('--maxmemory-policy', 'allkeys-lru');
    await using gateway = await gatewayOn(redis);
    expect(gateway.output()).not.toContain('EVICTS');
    expect(await metric(gateway, 'headgate_store_memory_used_ratio')).toBe(0);
  });
});
