/** What requests turned out to cost is charged to the unit, and attacks gain nothing: the short form of the scenario. */
import { describe, test } from 'vitest';
import { ownRedisIsHere, startRedis } from '../../support/redis.ts';
import { runAttacks } from './attacks.ts';
import { runFailover } from './failover.ts';
import { runSettle } from './run.ts';

describe.skipIf(!ownRedisIsHere).concurrent('limits that charge afterwards', () => {
  test.for([
    { while: 'a day ends', settleWithin: '1d', beforeMidnight: true },
    { while: 'tokens end', settleWithin: '2s', beforeMidnight: false },
  ])('have the counts of a ledger while $while', async (form, { expect }) => {
    await using redis = await startRedis();
    const options = { redisUrl: redis.url, gateways: 3, clients: 9, phaseMs: 1_000 };
    const { wrong, verdict, ...run } = await runSettle({ ...options, ...form });
    const { last, ...figures } = verdict;
    expect(wrong, JSON.stringify({ ...run, ...figures, last: last.size })).toEqual([]);
  });

  test('lack after a failover what it has lost, and nothing else', async ({ expect }) => {
    const run = await runFailover({ fault: 'cut off', gateways: 2, clients: 4, trafficMs: 500 });
    expect(run.wrong, JSON.stringify(run)).toEqual([]);
  });

  test('withstand attacks', async ({ expect }) => {
    await using redis = await startRedis();
    const options = { tokens: 2, aborted: 100, garbage: 2_000 };
    const { wrong, rows } = await runAttacks({ redisUrl: redis.url, ...options });
    expect(wrong, JSON.stringify(rows)).toEqual([]);
  });
});
