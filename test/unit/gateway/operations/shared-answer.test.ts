/** One answer for all callers of a second. */
import { expect, test, vi } from 'vitest';
import { sharedAnswer } from '../../../../src/gateway/operations/shared-answer.ts';

function setUp() {
  const clock = { nowMs: 1_000_000, basis: {} };
  const make = vi.fn(async () => clock.nowMs);
  const now = () => clock.nowMs;
  const basis = () => clock.basis;
  return { clock, make, ask: sharedAnswer(make, { forMs: 1_000, now, basis }) };
}

test('is made again when it is too old, or the clock was set back', async () => {
  const { clock, make, ask } = setUp();
  expect([await ask(), await ask()]).toEqual([1_000_000, 1_000_000]);
  clock.nowMs += 999;
  expect(await ask()).toBe(1_000_000);
  clock.nowMs += 1;
  expect(await ask()).toBe(1_001_000);
  clock.nowMs -= 3_600_000;
  expect(await ask()).toBe(1_001_000 - 3_600_000);
  expect(make).toHaveBeenCalledTimes(3);
});

test('is made again after a failure', async () => {
  const { make, ask } = setUp();
  make.mockRejectedValueOnce(new Error('no'));
  await expect(ask()).rejects.toThrow('no');
  expect(await ask()).toBe(1_000_000);
});

test('is made again when its basis has changed', async () => {
  const { clock, make, ask } = setUp();
  await ask();
  clock.basis = {};
  await Promise.all([ask(), ask()]);
  expect(make).toHaveBeenCalledTimes(2);
});
