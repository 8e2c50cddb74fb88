/**
 * What a call gets below, near and above its limit, in the windows of envoyproxy/ratelimit and in those of the product's
 * default, which count no hits beyond the limit. The rows are the cases of its
 * tests: test/redis/fixed_cache_impl_test.go (TestNearLimit) and test/limiter/base_limiter_test.go (TestGetResponseStatus…).
 *
 * One thing differs: envoyproxy/ratelimit divides the hits of a call among `within_limit`, `near_limit` and `over_limit`,
 * and counts a near hit in two of them. headgate gives all hits of a call the outcome of the call.
 */
import { describe, expect, test } from 'vitest';
import { callOf, limitingWith, WINDOWS } from '../../../support/rate-limiting.ts';

const SHADOW = 'shadow_mode: true';

/** Hits that the window has counted before the call, the hits of the call, what is left after it, and its outcome. */
const ROWS = [
  { limit: 15, unit: 'hour', before: 10, hits: 1, remaining: 4, outcome: 'within' },
  { limit: 15, unit: 'hour', before: 12, hits: 1, remaining: 2, outcome: 'near' },
  { limit: 15, unit: 'hour', before: 15, hits: 1, remaining: 0, outcome: 'over' },
  { limit: 20, unit: 'second', before: 2, hits: 3, remaining: 15, outcome: 'within' },
  { limit: 8, unit: 'second', before: 5, hits: 2, remaining: 1, outcome: 'near' },
  { limit: 20, unit: 'second', before: 16, hits: 3, remaining: 1, outcome: 'near' },
  { limit: 20, unit: 'second', before: 19, hits: 3, remaining: 0, outcome: 'over' },
  { limit: 20, unit: 'second', before: 15, hits: 7, remaining: 0, outcome: 'over' },
  { limit: 10, unit: 'second', before: 27, hits: 3, remaining: 0, outcome: 'over' },
  { limit: 5, unit: 'second', before: 2, hits: 4, remaining: 0, outcome: 'over' },
  { limit: 5, unit: 'second', before: 7, hits: 4, remaining: 0, outcome: 'over' },
  { limit: 10, unit: 'second', before: 2, hits: 4, remaining: 4, outcome: 'within' },
  { limit: 10, unit: 'second', before: 4, hits: 5, remaining: 1, outcome: 'near' },
] as const;

const CASES = WINDOWS.flatMap((windows) =>
  ROWS.filter(({ before, limit }) => windows === 'aligned' || before <= limit).map((row) => ({
    windows,
    ...row,
  })),
);

async function answerTo({ windows, limit, unit, before, hits }: (typeof CASES)[number], mode = '') {
  const rules = `
domain: domain
descriptors:
  - key: key
    value: value
    rate_limit: { unit: ${unit}, requests_per_unit: ${limit} }
    ${mode}
`;
  const limiting = limitingWith(rules, { windows });
  limiting.clock.nowMs = 1_234_500;
  await limiting.answer(callOf('domain', ['key=value'], before));
  limiting.counted.length = 0;
  const answer = await limiting.answer(callOf('domain', ['key=value'], hits));
  return { ...answer, counted: limiting.counted };
}

/** In seconds. The clock is at 34.5 seconds in the 21st minute of an hour. */
const HOUR_ENDS = { aligned: 2_366, sliding: 3_600 };

describe.each(CASES)('$before and $hits of $limit per $unit, $windows', (row) => {
  const isOverLimit = row.outcome === 'over';
  const status = {
    limit: { requestsPerUnit: row.limit, unit: row.unit, name: undefined },
    remaining: row.remaining,
    resetAfter: row.unit === 'hour' ? HOUR_ENDS[row.windows] : 1,
  };

  test(`are ${row.outcome}`, async () => {
    const answer = await answerTo(row);
    expect(answer.isOverLimit).toBe(isOverLimit);
    expect(answer.statuses).toEqual([{ ...status, isOverLimit }]);
    expect(answer.counted).toEqual([`domain.key_value ${row.outcome} ${row.hits}`]);
  });

  test('pass in shadow mode', async () => {
    const answer = await answerTo(row, SHADOW);
    expect(answer.isOverLimit).toBe(false);
    expect(answer.statuses).toEqual([{ ...status, isOverLimit: false }]);
    const outcome = isOverLimit ? 'shadow_over' : row.outcome;
    expect(answer.counted).toEqual([`domain.key_value ${outcome} ${row.hits}`]);
  });
});

test.each([
  { windows: 'sliding', unit: 'minute', isOverLater: false },
  { windows: 'aligned', unit: 'minute', isOverLater: true },
  // Windows of a week are fixed.
  { windows: 'sliding', unit: 'week', isOverLater: false },
] as const)('more hits than a limit of a $unit are denied: $windows', async (row) => {
  const { windows, unit, isOverLater } = row;
  const rate = `{ unit: ${unit}, requests_per_unit: 5 }`;
  const limiting = limitingWith(`domain: d\ndescriptors: [{ key: u, rate_limit: ${rate} }]`, {
    windows,
  });
  for (const hits of [6, 5_000_000]) {
    expect((await limiting.answer(callOf('d', ['u=x'], hits))).isOverLimit).toBe(true);
  }
  expect((await limiting.answer(callOf('d', ['u=x'], 5))).isOverLimit).toBe(isOverLater);
});

test('what a response has used counts in a fixed window, also beyond the limit', async () => {
  const rate = '{ unit: week, requests_per_unit: 5 }';
  const limiting = limitingWith(`domain: d\ndescriptors: [{ key: u, rate_limit: ${rate} }]`);
  const { descriptors, ...call } = callOf('d', ['u=x']);
  const own = descriptors.map((each) => ({ ...each, hitsAddend: 9 }));
  expect((await limiting.answer({ ...call, descriptors: own })).isOverLimit).toBe(true);
  expect((await limiting.answer(callOf('d', ['u=x']))).isOverLimit).toBe(true);
});

test('hits of a denied call that were not counted are not within a limit', async () => {
  const limiting = limitingWith(`domain: d
descriptors:
  - { key: wide, rate_limit: { unit: minute, requests_per_unit: 100 } }
  - { key: narrow, rate_limit: { unit: minute, requests_per_unit: 1 } }`);
  const call = callOf('d', ['wide=x', 'narrow=x']);
  await limiting.answer(call);
  limiting.counted.length = 0;
  const { statuses } = await limiting.answer(call);
  expect(statuses.map(({ remaining }) => remaining)).toEqual([99, 0]);
  expect(limiting.counted).toEqual(['d.wide within 0', 'd.narrow over 1']);
  limiting.counted.length = 0;
  // What the response used is counted all the same.
  const [wide, narrow] = call.descriptors.map((each) => ({ ...each, hitsAddend: 3 }));
  if (wide === undefined || narrow === undefined) throw new Error('there are two');
  await limiting.answer({ ...call, descriptors: [wide, narrow] });
  expect(limiting.counted).toEqual(['d.wide within 3', 'd.narrow over 3']);
});

test('a descriptor without a limit is OK, and nothing is left of nothing', async () => {
  const limiting = limitingWith('domain: domain\ndescriptors: []\n');
  const { isOverLimit, statuses } = await limiting.answer(callOf('domain', ['key=value']));
  expect([isOverLimit, statuses]).toEqual([
    false,
    [{ isOverLimit: false, limit: undefined, remaining: 0, resetAfter: 0 }],
  ]);
  expect(limiting.counted).toEqual([]);
});
