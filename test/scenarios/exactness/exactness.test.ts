/** Four gateway processes on one Redis, under three times the load that limits allow: the short form of the scenario. */
import { expect } from 'vitest';
import { startRedis, testWithRedis } from '../../support/redis.ts';
import { runExactness } from './run.ts';

testWithRedis('gateways on one Redis are exact, with and without cached denials', async () => {
  await using redis = await startRedis();
  const { wrong, verdict, scriptDecisions } = await runExactness({
    redisUrl: redis.url,
    gateways: 4,
    cachingGateways: 2,
    clients: 20,
    durationMs: 4_000,
    reloadEveryMs: 1_500,
  });
  expect(wrong, JSON.stringify({ ...verdict, scriptDecisions })).toEqual([]);
});
