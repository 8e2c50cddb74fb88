/**
 * Notices that files have changed, however they are replaced: written over, renamed over, or, as Kubernetes mounts its
 * ConfigMaps, by a symbolic link in their path that points elsewhere. A watch on a file follows what was there at first,
 * so the folders are watched; and since some file systems tell of nothing, everything is looked at now and then.
 */
import { type FSWatcher, realpathSync, watch } from 'node:fs';
import { dirname } from 'node:path';

const LOOK_EVERY_MS = 5_000;
/** While files change. */
const LOOK_AGAIN_MS = 50;

/** What is watched: the paths may be others after each change. */
export interface Watched {
  readonly files: readonly string[];
  /** Undefined while the files are what they were when they were last read. */
  pending(): { readonly state: string; readonly settledAfterMs: number } | undefined;
}

/**
 * As long as the process lives. `onSettled` is called with the milliseconds for which the files have been as they are,
 * and resolves once they have been read again, cannot be, or are to be left alone for longer.
 */
export function watchFiles(
  watched: Watched,
  onSettled: (settledMs: number) => Promise<void>,
): void {
  const watchFolders = folderWatch(watched, () => lookAfter(0));
  let next: NodeJS.Timeout | undefined;
  let isLooking = false;
  /** What the files were when they last changed. */
  let seen: { readonly state: string; readonly sinceMs: number } | undefined;

  const settle = async () => {
    const change = watched.pending();
    if (change === undefined) return;
    const nowMs = performance.now();
    if (change.state !== seen?.state) seen = { state: change.state, sinceMs: nowMs };
    const settledMs = nowMs - seen.sinceMs;
    if (settledMs >= change.settledAfterMs) await onSettled(settledMs);
  };
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    await settle();
    isLooking = false;
    watchFolders();
    if (watched.pending() !== undefined) lookAfter(LOOK_AGAIN_MS);
  };
  const lookAfter = (delayMs: number) => {
    clearTimeout(next);
    next = setTimeout(look, delayMs).unref();
  };

  watchFolders();
  setInterval(look, LOOK_EVERY_MS).unref();
}

/** Watches the folders of the files. Returns what is to be called whenever these may be others. */
function folderWatch(watched: Watched, onEvent: () => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  const addWatcher = (folder: string) => {
    try {
      const watcher = watch(folder, { persistent: false }, onEvent);
      // A folder that goes away; it is watched again once it is back.
      watcher.on('error', () => {
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
    } catch {
      // Not there, or no watches left: looking now and then is what remains.
    }
  };
  return () => {
    const wanted = new Set(watched.files.flatMap(foldersOf));
    for (const [folder, watcher] of watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (!watchers.has(folder)) addWatcher(folder);
    }
  };
}

/** Where a file is named, and where it is. */
function foldersOf(path: string): string[] {
  try {
    return [dirname(path), dirname(realpathSync(path))];
  } catch {
    return [dirname(path)];
  }
}
