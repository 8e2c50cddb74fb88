/** Under a minute of clients that come and go, while everything that could grow is watched: the short form. */
import { expect } from 'vitest';
import { startRedis, testWithRedis } from '../../support/redis.ts';
import { judgeSoak, SHORT_BARS, SHORT_SOAK, slopesOf } from './judge.ts';
import { runSoak } from './run.ts';

testWithRedis(
  'a gateway holds no more after clients than before',
  async () => {
    await using redis = await startRedis();
    const run = await runSoak({ ...SHORT_SOAK, redisUrl: redis.url });
    expect(judgeSoak(run, SHORT_BARS), JSON.stringify(slopesOf(run.samples))).toEqual([]);
  },
  180_000,
);
