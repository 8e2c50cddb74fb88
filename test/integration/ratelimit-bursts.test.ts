/** Bursts around the end of a window, as `node tools/ratelimit/bursts.ts` shows them. */
import { describe, expect, test } from 'vitest';
import {
  burstAround,
  burstCall,
  burstRules,
  LIMIT,
  passes,
  WINDOWS_MS,
} from '../../tools/ratelimit/burst.ts';
import { PATIENT } from '../support/gateway.ts';
import { type RateLimitGateway, startRateLimitGateway } from '../support/rate-limits.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';

/** The start of a minute. */
const MINUTE = 1_800_000_000_000;
const EXPECTED = [
  { windows: 'sliding', after: 0 },
  { windows: 'aligned', after: LIMIT },
];

async function passedOf(calls: number, { client }: RateLimitGateway): Promise<number> {
  let passed = 0;
  for (let i = 0; i < calls; i++) if (await passes(client, 'alice')) passed++;
  return passed;
}

describe.each(EXPECTED)('$windows windows', ({ windows, after }) => {
  const env = { HEADGATE_RATELIMIT_WINDOWS: windows };

  test(`let ${LIMIT + after} of 10 calls around the end of a minute through`, async () => {
    let nowMs = MINUTE + WINDOWS_MS.minute - 1;
    await using gateway = await startRateLimitGateway(burstRules('minute'), env, {
      now: () => nowMs,
    });
    expect(await passedOf(LIMIT, gateway)).toBe(LIMIT);
    nowMs++;
    expect(await passedOf(LIMIT, gateway)).toBe(after);
    nowMs = MINUTE + 2 * WINDOWS_MS.minute - 1;
    expect(await passedOf(LIMIT + 1, gateway)).toBe(LIMIT - after);
  });

  test('say when the next call is let through', async () => {
    const nowMs = MINUTE + 45_000;
    await using gateway = await startRateLimitGateway(burstRules('minute'), env, {
      now: () => nowMs,
    });
    await passedOf(LIMIT, gateway);
    const { message } = await gateway.client.ask(burstCall('alice'));
    const seconds = windows === 'aligned' ? 15 : 60;
    expect(message?.statuses[0]?.duration_until_reset).toMatchObject({ seconds });
  });

  testWithRedis(`let ${LIMIT + after} of 10 calls through on Redis`, async () => {
    await using redis = await startRedis();
    const onRedis = { ...PATIENT, ...env, HEADGATE_REDIS_URL: redis.url };
    await using gateway = await startRateLimitGateway(burstRules('second'), onRedis);
    const burst = await burstAround(gateway.client, 'second');
    expect(burst).toMatchObject({ before: LIMIT, after });
  });
});
