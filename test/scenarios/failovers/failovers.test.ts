/** Redis changes hands under load, and no request fails: the short form of the proof. */
import { describe, expect, test } from 'vitest';
import { ownRedisIsHere } from '../../support/redis.ts';
import { figuresOf, whatIsWrong } from './judge.ts';
import {
  type FailoverRun,
  runClusterFailovers,
  runResharding,
  runSentinelFailovers,
} from './run.ts';

const OPTIONS = { perSecond: 400, quietMs: 1_500 };
/** For a machine that is busy at the wrong moment. */
const SLACK_MS = 400;

describe.skipIf(!ownRedisIsHere)('no request fails, and what is forgotten is bounded', () => {
  test('when sentinels replace a master that is killed', async () => {
    expectWell(await runSentinelFailovers(['killed'], OPTIONS));
  });

  test('when a cluster replaces one of its masters, and counts on with the others meanwhile', async () => {
    expectWell(await runClusterFailovers(['killed'], OPTIONS));
  });

  test('when slots move, where nothing is forgotten at all', async () => {
    const { forgotten } = expectWell(await runResharding({ slots: 24, crowd: 4 }, OPTIONS));
    expect(forgotten).toBe(0);
  });
});

function expectWell(run: FailoverRun) {
  const figures = figuresOf(run);
  expect(whatIsWrong(figures, SLACK_MS), JSON.stringify(figures)).toEqual([]);
  return figures;
}
