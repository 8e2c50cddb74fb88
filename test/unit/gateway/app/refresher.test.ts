import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRefresher } from '../../../../src/gateway/app/shared-state.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function refresherThatFails(times: number) {
  const failures: string[] = [];
  let tries = 0;
  const refresher = createRefresher({
    everyMs: 60_000,
    refresh: async () => {
      tries++;
      if (tries <= times) throw new Error(`try ${tries}`);
    },
    onFailure: ({ message }) => failures.push(message),
  });
  return { refresher, failures, tries: () => tries };
}

test('a failed refresh is reported, and retried ten times a second until it succeeds', async () => {
  const { refresher, failures, tries } = refresherThatFails(2);
  let isDone = false;
  void refresher.refresh().then(() => {
    isDone = true;
  });
  await vi.advanceTimersByTimeAsync(199);
  expect(failures).toEqual(['try 1', 'try 2']);
  expect(isDone).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isDone).toBe(true);
  expect(tries()).toBe(3);
  refresher.close();
});

test('a refresh that succeeds is repeated after the interval', async () => {
  const { refresher, tries } = refresherThatFails(0);
  await refresher.refresh();
  await vi.advanceTimersByTimeAsync(59_999);
  expect(tries()).toBe(1);
  await vi.advanceTimersByTimeAsync(60_001);
  expect(tries()).toBe(3);
  refresher.close();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(tries()).toBe(3);
});

test('calls at the same time share one refresh', async () => {
  const { refresher, tries } = refresherThatFails(0);
  await Promise.all([refresher.refresh(), refresher.refresh(), refresher.refresh()]);
  refresher.close();
  expect(tries()).toBe(1);
});

test('a call retries at once', async () => {
  const { refresher, tries } = refresherThatFails(1);
  void refresher.refresh();
  await vi.advanceTimersByTimeAsync(1);
  await refresher.refresh();
  expect(tries()).toBe(2);
  refresher.close();
});

test('a refresh that never succeeds ends when the refresher is closed', async () => {
  const { refresher, tries } = refresherThatFails(Number.POSITIVE_INFINITY);
  const refreshing = refresher.refresh();
  await vi.advanceTimersByTimeAsync(1);
  refresher.close();
  await refreshing;
  expect(tries()).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});
