/** Keys in Redis while everything goes wrong: the short form. Expectations of time are for the long form. */
import { describe, expect, test } from 'vitest';
import { ownRedisIsHere } from '../../support/redis.ts';
import { runChanges } from './changes.ts';
import { runFloods } from './floods.ts';
import type { Found } from './lab.ts';
import { runForgeries, runLosses } from './lost-streams.ts';
import { runNewcomers } from './newcomers.ts';
import { runOutages } from './outage.ts';

/** So long that no look-up is late on a busy machine. */
const DEADLINE_MS = 10_000;

const PARTS: Readonly<Record<string, () => Promise<Found>>> = {
  'changes reach every gateway, with messages and without': () =>
    runChanges({ gateways: 3, rounds: 2, lossyRounds: 1, perSecond: 20 }),
  'customers behind one address are no inventors': () => runNewcomers(DEADLINE_MS, 200),
  'floods of invented keys take no plan from a customer': () =>
    runFloods({ seconds: 1, deadlineMs: DEADLINE_MS }),
  'an outage changes nobody, and gives nobody a fresh budget': () =>
    runOutages({ outageMs: 1_500, deadlineMs: 100, perSecond: 100 }),
  'what Redis loses is noticed': runLosses,
  'forged records are unlisted keys': runForgeries,
};

describe.skipIf(!ownRedisIsHere)('keys in Redis', () => {
  test.each(Object.entries(PARTS))('%s', async (_, run) => {
    const { wrong, rows } = await run();
    expect(wrong, JSON.stringify(rows)).toEqual([]);
  });
});
