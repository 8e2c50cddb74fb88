/** Calls whose descriptors have their own hits, as Envoy sends them: before a request, or when its response has ended. */
import { describe, expect, test } from 'vitest';
import { callOf, limitingWith } from '../../support/rate-limiting.ts';

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
      const isPassed = !(await send(before)).isOver;
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
  expect((await send(0)).isOver).toBe(false);
  const { isOver, statuses } = await send(1_000);
  expect([isOver, statuses[0]?.remaining]).toEqual([true, 0]);
  expect((await send(0)).isOver).toBe(true);
});

test('a denied charge that was never admitted leaves the limit as it is', async () => {
  const { send } = limitingAt(NOON_MS);
  for (let i = 0; i < 3; i++) expect((await send(6)).isOver).toBe(true);
  expect((await send(5)).isOver).toBe(false);
});
