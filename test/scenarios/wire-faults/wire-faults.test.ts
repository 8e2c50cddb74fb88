/**
 * A gateway whose wire to Redis goes bad in every way: the short form of the proof. Times are held to what the machine
 * makes of requests that need no Redis, with room for one that is busy; counts and answers are exact.
 */
import { describe, expect, test } from 'vitest';
import { ownRedisIsHere } from '../../support/redis.ts';
import { runBadAnswers } from './answering-badly.ts';
import { BAD_ANSWERS } from './bad-answers.ts';
import {
  runGatewaysThatLoseReplies,
  runLostReplies,
  runLostRepliesThatAreSentAgain,
} from './lost-replies.ts';
import { runToxics } from './toxics.ts';

const GRACE_MS = 250;
const RECOVER_WITHIN_MS = 3_000;
const LOST_REPLIES = 300;
/** On a machine that is busy with other things; otherwise half a minute for all of them. */
const LONGEST_MS = 240_000;

describe.skipIf(!ownRedisIsHere)('with a bad wire to Redis', () => {
  test('every request is answered in time, and Redis counts again once the wire is good', async () => {
    const { wrong } = await runToxics({
      names: [
        'latency 200 ms',
        'slices of 1 byte',
        'reset inside of 1 reply in 50',
        'half-open: accepted, never answered',
        'black hole both ways',
      ],
      perSecond: 500,
      toxicMs: 600,
      recoverWithinMs: RECOVER_WITHIN_MS,
      graceMs: GRACE_MS,
    });
    expect(wrong).toEqual([]);
  });

  test('requests whose replies are lost are counted once', async () => {
    const { wrong, ...run } = await runLostReplies(LOST_REPLIES);
    expect(wrong, JSON.stringify(run)).toEqual([]);
  });

  test('so are those of gateways', async () => {
    const options = { gateways: 2, perSecond: 300, losses: 25, withinMs: 20_000 };
    const { wrong, ...run } = await runGatewaysThatLoseReplies(options);
    expect(wrong, JSON.stringify(run)).toEqual([]);
  });

  test('those of a client that sends again are not', async () => {
    const { wrong, ...run } = await runLostRepliesThatAreSentAgain(100);
    expect(wrong, JSON.stringify(run)).toEqual([]);
  });
});

test(
  'whatever a server answers, a gateway lives, knows why, and believes no numbers that nobody counted',
  async () => {
    const results = await runBadAnswers({
      cases: BAD_ANSWERS,
      lanes: 4,
      perSecond: 250,
      recoverWithinMs: RECOVER_WITHIN_MS,
      graceMs: GRACE_MS,
    });
    const wrong = results.flatMap(({ name, wrong }) => wrong.map((each) => `${name}: ${each}`));
    expect(wrong).toEqual([]);
    expect(results).toHaveLength(BAD_ANSWERS.length);
  },
  LONGEST_MS,
);
