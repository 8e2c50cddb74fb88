/** Eight gateway processes on one Redis, under three times the load that limits admit: the short form of the proof. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisIsHere, startRedis, type TestRedis } from '../../support/redis.ts';
import { runExactness } from './run.ts';

const DURATION_MS = 6_000;
const RELOAD_EVERY_MS = 2_000;

describe.skipIf(!redisIsHere)('eight gateways on one Redis are exact', () => {
  let redis: TestRedis;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  test.each([
    ['with remembered denials', true],
    ['without remembered denials', false],
  ])('%s', async (_, remembersDenials) => {
    const { wrong, verdict } = await runExactness({
      redisUrl: redis.url,
      remembersDenials,
      durationMs: DURATION_MS,
      reloadEveryMs: RELOAD_EVERY_MS,
    });
    expect(wrong, JSON.stringify(verdict)).toEqual([]);
  });
});
