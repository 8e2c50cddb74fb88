/** Calls with the same entries twice. Expected numbers of aligned windows are those of envoyproxy/ratelimit. */
import { describe, expect, test } from 'vitest';
import type { LimitOverride } from '../../../../src/gateway/ratelimit/call.ts';
import { callOf, type LimitingOptions, limitingWith } from '../../../support/rate-limiting.ts';

const RULES =
  'domain: d\ndescriptors: [{ key: u, rate_limit: { unit: minute, requests_per_unit: 30 } }]';
/** The number of a minute in the API. */
const MINUTE = 2;
const per = (requestsPerUnit: number): LimitOverride => ({
  ...{ requestsPerUnit, unit: MINUTE, unitMultiplier: undefined },
});
const ALIGNED: LimitingOptions = { windows: 'aligned' };
const SLIDING: LimitingOptions = { windows: 'sliding' };

/** How many of four calls pass, and what the last says. */
async function answersTo(limits: readonly (LimitOverride | undefined)[], options: LimitingOptions) {
  const limiting = limitingWith(RULES, options);
  limiting.clock.nowMs = Date.UTC(2026, 0, 1, 12);
  const answers = [];
  for (let i = 0; i < 4; i++) {
    const { descriptors, ...call } = callOf('d', ['u=x', 'u=x']);
    const limited = descriptors.map((each, index) => ({ ...each, limit: limits[index] }));
    answers.push(await limiting.answer({ ...call, descriptors: limited }));
  }
  return {
    passed: answers.filter(({ isOverLimit }) => !isOverLimit).length,
    last: answers.at(-1)?.statuses.map(({ isOverLimit, limit, remaining }) => ({
      ...{ isOverLimit, limit: limit?.requestsPerUnit, remaining },
    })),
  };
}

describe.each([
  { windows: 'aligned', options: ALIGNED },
  { windows: 'sliding', options: SLIDING },
])('in $windows windows', ({ options, windows }) => {
  const isAligned = windows === 'aligned';

  test.each([
    { what: 'its own limit first', limits: [per(2), undefined] },
    { what: 'its own limit last', limits: [undefined, per(2)] },
  ])('each of two equal descriptors has its own limit: $what', async ({ limits }) => {
    const { passed, last } = await answersTo(limits, options);
    expect(passed).toBe(1);
    expect(last?.find(({ limit }) => limit === 2)).toEqual({
      isOverLimit: true,
      limit: 2,
      remaining: 0,
    });
    const other = last?.find(({ limit }) => limit === 30);
    expect(other?.isOverLimit).toBe(false);
    // Aligned windows count denied hits, too.
    expect(other?.remaining).toBe(isAligned ? (limits[0] ? 22 : 23) : 28);
  });

  test('two equal descriptors with one limit count twice', async () => {
    const { passed, last } = await answersTo([per(4), per(4)], options);
    expect(passed).toBe(2);
    expect(last?.every(({ isOverLimit }) => isOverLimit)).toBe(true);
  });
});

test('hits that are more than a limit has left deny the call, although some are left', async () => {
  const { passed, last } = await answersTo([per(3), undefined], SLIDING);
  expect(passed).toBe(1);
  expect(last).toEqual([
    { isOverLimit: true, limit: 3, remaining: 0 },
    { isOverLimit: false, limit: 30, remaining: 28 },
  ]);
});
