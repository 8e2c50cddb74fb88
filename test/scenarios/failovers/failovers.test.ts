/** Redis fails over under load, and no request fails: the short form of the scenario. Counts are exact. */
import { describe, type ExpectStatic, test } from 'vitest';
import { ownRedisIsHere } from '../../support/redis.ts';
import { figuresOf } from './figures.ts';
import { whatIsWrong } from './judge.ts';
import {
  type FailoverRun,
  runClusterFailovers,
  runResharding,
  runSentinelFailovers,
} from './run.ts';

const OPTIONS = {
  perSecond: 200,
  // A busy machine answers most requests within this deadline.
  deadlineMs: 400,
  quietMs: 300,
  lastQuietMs: 1_500,
  counted: 30,
  limited: 12,
};
/** Shows that no request hangs. The long form holds gateways to their deadline. */
const SLACK_MS = 10_000;

describe.skipIf(!ownRedisIsHere).concurrent('no request fails, and few counts are lost', () => {
  test('if sentinels replace a master that is killed', async ({ expect }) => {
    expectWell(expect, await runSentinelFailovers(['killed'], OPTIONS));
  });

  test('if a cluster replaces one of its masters, while the others go on counting', async ({
    expect,
  }) => {
    expectWell(expect, await runClusterFailovers(['killed'], OPTIONS));
  });

  test('if slots move, in which case no count is lost', async ({ expect }) => {
    const { forgotten } = expectWell(expect, await runResharding({ slots: 12, crowd: 3 }, OPTIONS));
    expect(forgotten).toBe(0);
  });
});

function expectWell(expect: ExpectStatic, run: FailoverRun) {
  const figures = figuresOf(run);
  expect(whatIsWrong(figures, SLACK_MS), JSON.stringify(figures)).toEqual([]);
  return figures;
}
