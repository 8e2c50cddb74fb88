/**
 * Redis is killed, frozen and cut off under load: the short form of the scenario. Counts are exact. Bars of time only
 * show that no request hangs; the long form holds gateways to their deadline.
 */
import { describe, test } from 'vitest';
import { ownRedisIsHere } from '../../support/redis.ts';
import { runFreezes } from './freezes.ts';
import { runKills } from './kills.ts';
import { runPartition } from './partition.ts';

const OUTAGE = {
  // A busy machine answers most requests within this deadline.
  deadlineMs: 400,
  perSecond: 300,
  warmUpMs: 1_000,
  normalMs: 300,
};
const BUSY_MS = 10_000;
const BACK_WITHIN_MS = 10_000;
/** A heap that has been used for seconds only still grows. */
const COLD_GROWTH_MIB = 128;

describe.skipIf(!ownRedisIsHere).concurrent('while Redis is away', () => {
  test('and is killed twice, every answer fits its policy, and limits soon hold again', async ({
    expect,
  }) => {
    const { wrong } = await runKills({
      ...OUTAGE,
      kills: 2,
      clients: 10,
      outageMs: 1_000,
      p99MoreMs: BUSY_MS,
      backWithinMs: BACK_WITHIN_MS,
    });
    expect(wrong).toEqual([]);
  });

  test('and is frozen twice, no request hangs, and none is counted twice', async ({ expect }) => {
    const { wrong, counts } = await runFreezes({
      ...OUTAGE,
      freezesMs: [500, 1_500],
      lateMs: BUSY_MS,
      mostGrowthMib: COLD_GROWTH_MIB,
    });
    expect(wrong, JSON.stringify(counts)).toEqual([]);
  });

  test('and four gateways are cut off from it, they admit what their shares allow', async ({
    expect,
  }) => {
    const { wrong, accounts } = await runPartition({
      clientsPerGroup: 2,
      perSecond: 300,
      hasEvenLoad: false,
    });
    expect(wrong, JSON.stringify(accounts)).toEqual([]);
  });
});
