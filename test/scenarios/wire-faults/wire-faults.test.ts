/**
 * Bad wires to Redis, lost replies and wrong replies: the short form of the scenario. Counts and answers are exact.
 * Limits of time only show that nothing hangs; the long form holds gateways to their deadline.
 */
import { describe, test } from 'vitest';
import { ownRedisIsHere } from '../../support/redis.ts';
import { WAYS } from '../../support/stores.ts';
import { runBadAnswers } from './answering-badly.ts';
import {
  runGatewaysThatLoseReplies,
  runLostReplies,
  runLostRepliesThatAreSentAgain,
} from './lost-replies.ts';
import { SHORT_BAD_ANSWERS } from './short-bad-answers.ts';
import { runToxics } from './toxics.ts';

/** A busy machine answers most requests within this deadline. */
const TOLERANCE = {
  deadlineMs: 400,
  recoverWithinMs: 20_000,
  graceMs: 10_000,
  attempts: 1,
} as const;
const LOST_REPLIES = 200;

describe.concurrent('with a bad connection to Redis', () => {
  test.skipIf(!ownRedisIsHere)(
    'a gateway answers every request, and counts in Redis again once the connection is good',
    async ({ expect }) => {
      const { wrong } = await runToxics({
        names: [
          'slices of 1 byte',
          'reset inside of every reply',
          'half-open: accepted, never answered',
          'black hole both ways',
        ],
        perSecond: 200,
        toxicMs: 2 * TOLERANCE.deadlineMs,
        ...TOLERANCE,
      });
      expect(wrong).toEqual([]);
    },
  );

  test.skipIf(!ownRedisIsHere).for(WAYS)(
    'the store counts requests once if their replies are lost, over %s',
    async (way, { expect }) => {
      const { wrong, ...run } = await runLostReplies(LOST_REPLIES, way);
      expect(wrong, JSON.stringify(run)).toEqual([]);
    },
  );

  test.skipIf(!ownRedisIsHere)(
    'gateways count requests once if their replies are lost',
    async ({ expect }) => {
      const options = { gateways: 2, perSecond: 100, losses: 25, withinMs: 60_000 };
      const { wrong, ...run } = await runGatewaysThatLoseReplies(options);
      expect(wrong, JSON.stringify(run)).toEqual([]);
    },
  );

  test.skipIf(!ownRedisIsHere)(
    'a client that sends commands again counts requests twice',
    async ({ expect }) => {
      const { wrong, ...run } = await runLostRepliesThatAreSentAgain(100);
      expect(wrong, JSON.stringify(run)).toEqual([]);
    },
  );

  test('a gateway survives every wrong reply, reports the reason, and believes no number in it', async ({
    expect,
  }) => {
    const results = await runBadAnswers({
      cases: SHORT_BAD_ANSWERS,
      lanes: 3,
      perSecond: 120,
      ...TOLERANCE,
    });
    const wrong = results.flatMap(({ name, wrong }) => wrong.map((each) => `${name}: ${each}`));
    expect(wrong).toEqual([]);
    expect(results).toHaveLength(SHORT_BAD_ANSWERS.length);
  });
});
