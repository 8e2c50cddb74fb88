/** When changed files are read, and which folders are watched. Timers and events are fake. */
import { EventEmitter } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchFiles } from '../../../../src/gateway/config/file-watch.ts';

/** The events of each folder that is watched. */
const watchers = new Map<string, EventEmitter>();
const { watch } = vi.hoisted(() => ({ watch: vi.fn() }));
vi.mock('node:fs', async (original) => ({
  ...(await original<typeof import('node:fs')>()),
  watch,
}));

beforeEach(() => {
  watchers.clear();
  watch.mockImplementation((folder: string, _: object, onEvent: () => void) => {
    const close = () => watchers.delete(folder);
    const watcher = Object.assign(new EventEmitter(), { close });
    watchers.set(folder, watcher.on('change', onEvent));
    return watcher;
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** `state` undefined: the files have not changed. */
function watching(settledAfterMs: number, paths: readonly string[] = []) {
  const files = { state: undefined as string | undefined };
  const settled: number[] = [];
  watchFiles(
    {
      files: paths,
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

test('an event makes it look at once', async () => {
  const { files, settled } = watching(0, ['/etc/headgate/policies.yaml']);
  files.state = 'changed';
  watchers.get('/etc/headgate')?.emit('change');
  await vi.advanceTimersByTimeAsync(1);
  expect(settled).toEqual([0]);
});

test('watches the folder of a file, and the folder that it links to, also after the link changes', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-watch-')));
  try {
    for (const name of ['one', 'two']) mkdirSync(join(root, name));
    const link = join(root, 'data');
    symlinkSync('one', link);
    watching(0, [join(link, 'policies.yaml')]);
    // The file does not exist yet.
    expect([...watchers.keys()]).toEqual([link]);
    symlinkSync('/dev/null', join(root, 'one', 'policies.yaml'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect([...watchers.keys()].sort()).toEqual(['/dev', link]);
    rmSync(link);
    symlinkSync('two', link);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([...watchers.keys()]).toEqual([link]);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('watches a folder again after an error', async () => {
  watching(0, ['/etc/headgate/policies.yaml']);
  watchers.get('/etc/headgate')?.emit('error', new Error('removed'));
  expect(watchers.size).toBe(0);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([...watchers.keys()]).toEqual(['/etc/headgate']);
});

test('looks regularly at a folder that cannot be watched', async () => {
  watch.mockImplementation(() => {
    throw new Error('ENOSPC');
  });
  const { files, settled } = watching(0, ['/etc/headgate/policies.yaml']);
  files.state = 'changed';
  await vi.advanceTimersByTimeAsync(5_000);
  expect(settled).toEqual([0]);
});
