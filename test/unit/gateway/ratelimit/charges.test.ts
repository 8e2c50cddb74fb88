/** Calls whose descriptors have their own hits, as Envoy sends them: before a request, or when its response has ended. */
import { describe, expect, test } from 'vitest';
import { callOf, limitingWith } from '../../../support/rate-limiting.ts';

const RULES =
  'domain: d\ndescriptors: [{ key: u, rate_limit: { unit: second, requests_per_unit: 5 } }]';
const NOON_MS = Date.UTC(2026, 0, 1, 12);
const MIDNIGHT_MS = Date.UTC(2026, 0, 2);

function limitingAt(nowMs: number) {
  const limiting = limitingWith(RULES, { windows: 'sliding' });
  limiting.clock.nowMs = nowMs;
  const send = async (hits: number) => {
    const { descriptors, ...call } = callOf('d', ['u=192.0.2.1']);
    const own = descriptors.map((each) => ({ ...each, hitsAddend: hits }));
    return limiting.answer({ ...call, descriptors: own });
  };
  return { clock: limiting.clock, send };
}

/** How many requests pass in each second, at 20 requests a second. */
async function passedIn(
  seconds: number,
  startMs: number,
  { before, after }: { before: number; after?: number },
) {
  const { clock, send } = limitingAt(startMs);
  const passed: number[] = [];
  for (let second = 0; second < seconds; second++) {
    let count = 0;
    for (let i = 0; i < 20; i++) {
      clock.nowMs = startMs + second * 1_000 + i * 50;
      const isPassed = !(await send(before)).isOverLimit;
      if (isPassed) count++;
      // Envoy answers a denied request itself, so its response ends earlier.
      clock.nowMs += isPassed ? 7 : 1;
      if (after !== undefined) await send(after);
    }
    passed.push(count);
  }
  return passed;
}

describe('at four times the limit, as many requests pass in each second as the limit says', () => {
  test.each([
    { when: 'at noon', startMs: NOON_MS },
    { when: 'around midnight, when pseudonyms change', startMs: MIDNIGHT_MS - 4_000 },
  ])('$when', async ({ startMs }) => {
    const all = Array.from({ length: 8 }, () => 5);
    expect(await passedIn(8, startMs, { before: 1 })).toEqual(all);
    expect(await passedIn(8, startMs, { before: 0, after: 1 })).toEqual(all);
  });
});

test('the charge of an admitted check that does not fit takes what is left', async () => {
  const { send } = limitingAt(NOON_MS);
  expect((await send(0)).isOverLimit).toBe(false);
  const { isOverLimit, statuses } = await send(1_000);
  expect([isOverLimit, statuses[0]?.remaining]).toEqual([true, 0]);
  expect((await send(0)).isOverLimit).toBe(true);
});

test('a denied charge that was never admitted leaves the limit as it is', async () => {
  const { send } = limitingAt(NOON_MS);
  for (let i = 0; i < 3; i++) expect((await send(6)).isOverLimit).toBe(true);
  expect((await send(5)).isOverLimit).toBe(false);
});

describe('a call with several limits that asks for more than each', () => {
  /** At irregular intervals, 50 calls a second on average. */
  async function passedPerMinute(hits: readonly (number | undefined)[]) {
    const rules = [
      'domain: d',
      'descriptors:',
      '- { key: s, rate_limit: { unit: second, requests_per_unit: 5 } }',
      '- { key: m, rate_limit: { unit: minute, requests_per_unit: 20 } }',
    ];
    const limiting = limitingWith(rules.join('\n'), { windows: 'sliding' });
    const { descriptors, ...call } = callOf('d', ['s=x', 'm=x']);
    const own = descriptors.map((each, i) => ({ ...each, hitsAddend: hits[i] }));
    const passed = [0, 0, 0, 0];
    let state = 1;
    for (let ms = 0; ms < passed.length * 60_000; ms += 5 + (state % 31)) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      limiting.clock.nowMs = NOON_MS + ms;
      const { isOverLimit } = await limiting.answer({ ...call, descriptors: own });
      const minute = Math.floor(ms / 60_000);
      if (!isOverLimit) passed[minute] = (passed[minute] ?? 0) + 1;
    }
    return passed;
  }

  test.each([
    { own: 'all', hits: [1, 1] },
    { own: 'the shorter one', hits: [1, undefined] },
    { own: 'the longer one', hits: [undefined, 1] },
  ])(
    'is admitted half as often as the strictest allows, where own hits are of $own',
    async ({ hits }) => {
      expect(Math.min(...(await passedPerMinute(hits)))).toBeGreaterThanOrEqual(9);
    },
  );
});

test('a descriptor that had room in a denied call is within its limit', async () => {
  const rules = [
    'domain: d',
    'descriptors:',
    '- { key: a, rate_limit: { unit: second, requests_per_unit: 8 } }',
    '- { key: b, rate_limit: { unit: minute, requests_per_unit: 9 } }',
  ];
  const limiting = limitingWith(rules.join('\n'), { windows: 'sliding' });
  limiting.clock.nowMs = NOON_MS;
  const send = async (hits: readonly number[]) => {
    const { descriptors, ...call } = callOf('d', ['a=x', 'b=x']);
    const own = descriptors.map((each, i) => ({ ...each, hitsAddend: hits[i] }));
    const { isOverLimit, statuses } = await limiting.answer({ ...call, descriptors: own });
    return [isOverLimit, ...statuses.map((each) => [each.isOverLimit, each.remaining])];
  };
  expect(await send([3, 0])).toEqual([false, [false, 5], [false, 9]]);
  expect(await send([7, 9])).toEqual([true, [true, 0], [false, 0]]);
  // The call would have to wait for the limit that its charge has used up.
  await send([0, 1]);
  expect(limiting.denied[0]).toEqual(limiting.denied[1]);
});

test('equal descriptors with own hits count together', async () => {
  const limiting = limitingWith(RULES, { windows: 'sliding' });
  limiting.clock.nowMs = NOON_MS;
  const { descriptors, ...call } = callOf('d', ['u=x', 'u=x']);
  const own = descriptors.map((each, i) => ({ ...each, hitsAddend: i }));
  const passed: boolean[] = [];
  for (let i = 0; i < 7; i++) {
    limiting.clock.nowMs += 20;
    passed.push(!(await limiting.answer({ ...call, descriptors: own })).isOverLimit);
  }
  expect(passed).toEqual([true, true, true, true, true, false, false]);
});
