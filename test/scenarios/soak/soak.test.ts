/** The short form of the soak: thousands of clients, while everything that could grow is measured. */
import { expect } from 'vitest';
import { startRedis, testWithRedis } from '../../support/redis.ts';
import { judgeSoak, SHORT_BARS, SHORT_SOAK, slopesOf } from './judge.ts';
import { runSoak } from './run.ts';

testWithRedis(
  'memory, open files and keys do not grow while clients come and go',
  async () => {
    await using redis = await startRedis();
    const run = await runSoak({ ...SHORT_SOAK, redisUrl: redis.url });
    expect(judgeSoak(run, SHORT_BARS), JSON.stringify(slopesOf(run.samples))).toEqual([]);
  },
  180_000,
);
