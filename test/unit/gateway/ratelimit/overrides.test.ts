/** Limits that a call sets, as Envoy reads them from the metadata of a request. */
import { describe, expect, test } from 'vitest';
import type { LimitOverride } from '../../../../src/gateway/ratelimit/call.ts';
import { OVERRIDE_UNITS } from '../../../../src/gateway/ratelimit/messages/units.ts';
import {
  callOf,
  type LimitingOptions,
  limitingWith,
  WINDOWS,
} from '../../../support/rate-limiting.ts';

const NOON_MS = Date.UTC(2026, 0, 1, 12);
const SECOND_MS = 1_000;

function limitOf(
  requestsPerUnit: number,
  unit: (typeof OVERRIDE_UNITS)[number],
  unitMultiplier?: number,
): LimitOverride {
  return { requestsPerUnit, unit: OVERRIDE_UNITS.indexOf(unit), unitMultiplier };
}

function setUp(options: LimitingOptions = {}) {
  const limiting = limitingWith('domain: d\ndescriptors: []\n', options);
  limiting.clock.nowMs = NOON_MS;
  const answerTo = (value: string, ...limits: readonly LimitOverride[]) => {
    const { descriptors, ...call } = callOf(
      'd',
      limits.map(() => `u=${value}`),
    );
    const own = descriptors.map((each, i) => ({ ...each, limit: limits[i] }));
    return limiting.answer({ ...call, descriptors: own });
  };
  /** How many of these calls pass, each so many seconds after noon. */
  const passedAt = async (seconds: readonly number[], limit: LimitOverride, value = 'x') => {
    const passed: number[] = [];
    for (const second of seconds) {
      limiting.clock.nowMs = NOON_MS + second * SECOND_MS;
      if (!(await answerTo(value, limit)).isOverLimit) passed.push(second);
    }
    return passed;
  };
  return { ...limiting, answerTo, passedAt };
}

test('a call for an unknown domain is not limited', async () => {
  const { answer } = setUp();
  const { descriptors } = callOf('d', ['u=x']);
  const call = {
    ...callOf('other', ['u=x']),
    descriptors: descriptors.map((each) => ({ ...each, limit: limitOf(1, 'hour') })),
  };
  await answer(call);
  expect((await answer(call)).isOverLimit).toBe(false);
});

describe.each(WINDOWS)('in %s windows', (windows) => {
  test('a window has as many units as the limit says', async () => {
    const { passedAt, answerTo, clock } = setUp({ windows });
    const seconds = [0, 10, 29, 30, 31, 59, 60];
    expect(await passedAt(seconds, limitOf(1, 'second', 30))).toEqual([0, 30, 60]);
    clock.nowMs = NOON_MS;
    const { statuses } = await answerTo('y', limitOf(5, 'minute', 10), limitOf(7, 'day', 3));
    expect(statuses.map(({ limit }) => limit)).toEqual([
      { requestsPerUnit: 5, unit: 'minute', unitMultiplier: 10, name: undefined },
      { requestsPerUnit: 7, unit: 'day', unitMultiplier: 3, name: undefined },
    ]);
    expect(statuses[0]?.resetAfter).toBe(600);
    expect(statuses[1]?.resetAfter).toBeLessThanOrEqual(3 * 86_400);
  });

  test('a multiplier of 1 is none, and equal windows share a counter', async () => {
    const { answerTo } = setUp({ windows });
    const left: (number | undefined)[] = [];
    const units: (string | undefined)[] = [];
    for (const limit of [
      ...[limitOf(5, 'minute'), limitOf(5, 'minute', 1), limitOf(5, 'second', 60)],
      ...[limitOf(5, 'second'), limitOf(5, 'second', 59)],
    ]) {
      const [status] = (await answerTo('x', limit)).statuses;
      left.push(status?.remaining);
      units.push(status?.limit?.unit);
    }
    expect(left).toEqual([4, 3, 2, 4, 4]);
    expect(units).toEqual(['minute', 'minute', 'second', 'second', 'second']);
    expect((await answerTo('x', limitOf(5, 'minute', 1))).statuses[0]?.limit).toEqual({
      ...{ requestsPerUnit: 5, unit: 'minute', name: undefined },
    });
  });

  test('the same number per another unit is another limit', async () => {
    const { passedAt } = setUp({ windows });
    expect(await passedAt([0, 1, 2], limitOf(1, 'second'))).toEqual([0, 1, 2]);
    expect(await passedAt([10, 11, 70], limitOf(1, 'minute'))).toEqual([10, 70]);
    expect(await passedAt([100, 130], limitOf(1, 'second', 30), 'y')).toEqual([100, 130]);
    expect(await passedAt([100, 130], limitOf(1, 'minute', 30), 'y')).toEqual([100]);
  });

  test('a limit of 0 denies every hit', async () => {
    const { answerTo } = setUp({ windows, hasMetadata: true });
    const { isOverLimit, statuses, metadata } = await answerTo('x', limitOf(0, 'minute'));
    expect([isOverLimit, statuses[0]?.limit?.requestsPerUnit]).toEqual([true, 0]);
    expect(metadata).toMatchObject({ descriptors: [{ limit: 'unit:MINUTE' }] });
  });

  test.each([
    ['no unit', limitOf(1, undefined), 'A limit of the call has an unknown unit.'],
    ['a multiplier of 0', limitOf(1, 'hour', 0), 'must be above 0'],
    ['a window above a century', limitOf(1, 'year', 101), 'at most 100 years'],
    ['the largest number', limitOf(1, 'year', 2 ** 32 - 1), 'at most 100 years'],
  ])('a limit with %s is refused', async (_, limit, message) => {
    const { answerTo, counted } = setUp({ windows });
    await expect(answerTo('x', limit)).rejects.toMatchObject({
      name: 'RefusedCall',
      code: 'invalid_argument',
      message: expect.stringContaining(message),
    });
    expect(counted).toEqual([]);
  });
});

test('a limit of a call has the name of its domain', async () => {
  const limiting = limitingWith('domain: d\ndescriptors: []\n');
  limiting.load('domain: d\ndescriptors: []\n', 'domain: e\ndescriptors: []\n');
  for (const domain of ['d', 'e']) {
    const { descriptors, ...call } = callOf(domain, ['u=x']);
    const own = descriptors.map((each) => ({ ...each, limit: limitOf(5, 'minute') }));
    await limiting.answer({ ...call, descriptors: own });
  }
  expect(limiting.counted).toEqual(['d.override within 1', 'e.override within 1']);
});

test.each(WINDOWS)('hits of an address count after midnight: %s windows', async (windows) => {
  const { clock, answerTo } = setUp({ windows });
  // Of seven hours, the first midnight of 2026 is in the middle.
  for (const [hour, isOverLimit] of [
    [11, false],
    [12.5, true],
  ] as const) {
    clock.nowMs = NOON_MS + hour * 3_600_000;
    expect(await answerTo('203.0.113.7', limitOf(1, 'hour', 7))).toMatchObject({ isOverLimit });
  }
});

test('the largest limit slides', async () => {
  const { clock, answerTo } = setUp();
  clock.nowMs = NOON_MS + 20_000;
  const secondsOf = async (limit: LimitOverride) =>
    (await answerTo('x', limit)).statuses[0]?.resetAfter;
  expect(await secondsOf(limitOf(1_000_000, 'minute'))).toBe(60);
  expect(await secondsOf(limitOf(1_000_001, 'minute'))).toBe(40);
});

test('a window of up to a day slides, whatever its unit', async () => {
  const { answerTo } = setUp();
  const resetAfter = async (limit: LimitOverride) =>
    (await answerTo('x', limit)).statuses[0]?.resetAfter;
  expect(await resetAfter(limitOf(5, 'hour', 24))).toBe(86_400);
  expect(await resetAfter(limitOf(5, 'minute', 1_441))).toBeLessThan(1_441 * 60);
});

test('metadata describes the limit of a call', async () => {
  const { answerTo } = setUp({ hasMetadata: true });
  const { metadata } = await answerTo('x', limitOf(5, 'minute'), limitOf(7, 'second', 30));
  expect(metadata).toMatchObject({
    descriptors: [
      { limit: 'requests_per_unit:5 unit:MINUTE' },
      { limit: 'requests_per_unit:7 unit:SECOND unit_multiplier:{value:30}' },
    ],
  });
});
