/** When changed files are read. The timers are fake; only the regular looks are tested, since events are optional. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchFiles } from '../../../../src/config/policy-file/file-watch.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** `state` undefined: the files have not changed. */
function watching(settledAfterMs: number) {
  const files = { state: undefined as string | undefined };
  const settled: number[] = [];
  watchFiles(
    {
      files: [],
      pending: () =>
        files.state === undefined ? undefined : { state: files.state, settledAfterMs },
    },
    async (settledMs) => {
      settled.push(settledMs);
      files.state = undefined;
    },
  );
  return { files, settled };
}

test('looks every 5 seconds', async () => {
  const { files, settled } = watching(0);
  files.state = 'changed';
  await vi.advanceTimersByTimeAsync(4_999);
  expect(settled).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(settled).toEqual([0]);
});

test('reads changed files when they have settled', async () => {
  const { files, settled } = watching(2_000);
  files.state = 'changed';
  await vi.advanceTimersByTimeAsync(5_000 + 1_999);
  expect(settled).toEqual([]);
  await vi.advanceTimersByTimeAsync(51);
  expect(settled).toHaveLength(1);
  expect(settled[0]).toBeGreaterThanOrEqual(2_000);
});

test('a further change starts the time again', async () => {
  const { files, settled } = watching(2_000);
  files.state = 'changed';
  await vi.advanceTimersByTimeAsync(5_000 + 1_500);
  files.state = 'changed again';
  await vi.advanceTimersByTimeAsync(1_900);
  expect(settled).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(settled).toHaveLength(1);
});

test('does not read unchanged files', async () => {
  const { settled } = watching(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(settled).toEqual([]);
});
