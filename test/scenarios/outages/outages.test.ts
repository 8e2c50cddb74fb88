/**
 * Redis is killed, frozen and cut off under load: the short form of the proof. Counts are exact here as there; bars of
 * time are such that a busy machine does not reach them.
 */
import { describe, expect, test } from 'vitest';
import { ownRedisIsHere } from '../../support/redis.ts';
import { runFreezes } from './freezes.ts';
import { runKills } from './kills.ts';
import { runPartition } from './partition.ts';

const PER_SECOND = 600;
const NORMAL_MS = 500;
const BUSY_MS = 2_000;
const BACK_WITHIN_MS = 5_000;
/** A heap that was in use for seconds only still grows to its size. */
const COLD_GROWTH_MIB = 128;

describe.skipIf(!ownRedisIsHere)('while Redis is away', () => {
  test('it is killed twice: every answer is that of its policy, and limits hold soon again', async () => {
    const { wrong } = await runKills({
      kills: 2,
      outageMs: 700,
      normalMs: NORMAL_MS,
      perSecond: PER_SECOND,
      p99MoreMs: BUSY_MS,
      backWithinMs: BACK_WITHIN_MS,
    });
    expect(wrong).toEqual([]);
  });

  test('it is frozen twice: nobody waits beyond the deadline, and nothing is counted twice', async () => {
    const { wrong, counts } = await runFreezes({
      freezesMs: [300, 2_000],
      normalMs: NORMAL_MS,
      perSecond: PER_SECOND,
      lateMs: BUSY_MS,
      mostGrowthMib: COLD_GROWTH_MIB,
    });
    expect(wrong, JSON.stringify(counts)).toEqual([]);
  });

  test('four gateways are cut off from it: together they admit what their shares allow', async () => {
    const { wrong, accounts } = await runPartition({ clientsPerGroup: 4, perSecond: 500 });
    expect(wrong, JSON.stringify(accounts)).toEqual([]);
  });
});
