import type { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import { levelOf } from '../../../../../src/cli/doctor/redis/diagnostics.ts';
import { paceFindings } from '../../../../../src/cli/doctor/redis/pace-findings.ts';

const STORE_TIMEOUT_MS = 100;

/** A Redis whose round trips take so long by the clock of this process, in turn, and whose own clock is ahead. */
async function findings(durationsMs: readonly number[], aheadMs = 0): Promise<string[]> {
  let elapsedMs = 1_000_000;
  let calls = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
  const client = {
    async time() {
      const durationMs = durationsMs[calls++ % durationsMs.length] as number;
      elapsedMs += durationMs;
      const serverMs = elapsedMs - durationMs / 2 + aheadMs;
      return [Math.floor(serverMs / 1_000), (serverMs % 1_000) * 1_000];
    },
  } as unknown as Redis;
  try {
    const found = paceFindings({
      client,
      storeTimeoutMs: STORE_TIMEOUT_MS,
      now: () => elapsedMs,
    });
    const lines: string[] = [];
    for await (const each of found) lines.push(`${levelOf(each)}: ${each.message}`);
    return lines;
  } finally {
    clock.mockRestore();
  }
}

const FINE = expect.stringMatching(/^fine: /);
const SLOW = expect.stringContaining('more than half of HEADGATE_STORE_TIMEOUT_MS (100)');

test('a Redis that answers within half of the deadline is fine', async () => {
  expect(await findings([1])).toEqual([FINE, FINE]);
  expect(await findings([1, 50])).toEqual([FINE, FINE]);
});

test('one round trip that takes longer is a warning, with the median and the worst', async () => {
  const [, pace] = await findings([1, 1, 1, 51]);
  expect(pace).toEqual(SLOW);
  expect(pace).toContain('round trips take 1.0 ms (median) to 51 ms (worst of');
});

test('half of a long round trip is the way to the server, and not its clock', async () => {
  expect((await findings([1_800]))[0]).toEqual(FINE);
  expect((await findings([400], -1_500))[0]).toContain('its clock is 1.5 s behind');
});

test('a clock may be a second off, to either side', async () => {
  expect((await findings([2], 1_000))[0]).toEqual(FINE);
  expect((await findings([2], 1_500))[0]).toContain('its clock is 1.5 s ahead of');
  expect((await findings([2], -1_500))[0]).toContain('its clock is 1.5 s behind');
});

test('a slow Redis is asked for two seconds at most', async () => {
  expect((await findings([700]))[1]).toContain('(worst of 3)');
  expect((await findings([1]))[1]).toContain('(worst of 50)');
});
