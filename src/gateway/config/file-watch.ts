/** A watch on a file follows the old file when it is replaced, so this watches folders. Some file systems send no events. */
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';

const LOOK_EVERY_MS = 5_000;
/** Applies while files change. */
const LOOK_AGAIN_MS = 50;

/** The files to watch. Their paths may change when they are read again. */
export interface Watched {
  readonly files: readonly string[];
  /** Undefined while the files are the same as when they were last read. */
  pending(): { readonly state: string; readonly settledAfterMs: number } | undefined;
}

/**
 * Watches until the process ends. `onSettled` gets the milliseconds since the last change, once they are long enough. It
 * resolves when the files have been read, or refused, or need more time.
 */
export function watchFiles(
  watched: Watched,
  onSettled: (settledMs: number) => Promise<void>,
): void {
  const watchFolders = folderWatch(watched, () => lookAfter(0));
  let next: NodeJS.Timeout | undefined;
  let isLooking = false;
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

/** Watches the folders of the files. Call the returned function when these may have changed. */
function folderWatch(watched: Watched, onEvent: () => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  const addWatcher = (folder: string) => {
    try {
      const watcher = watch(folder, { persistent: false }, onEvent);
      // The folder was removed. It is watched again when it exists again.
      watcher.on('error', () => {
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
    } catch {
      // The folder does not exist, or no watches are left: the regular look notices changes.
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

function foldersOf(path: string): string[] {
  try {
    return [dirname(path), dirname(realpathSync(path))];
  } catch {
    return [dirname(path)];
  }
}

export interface FileVersion {
  readonly id: string;
  /** Changes if another file replaces this one, and not if the file is written in place. */
  readonly inode: string;
  /** Bytes. */
  readonly size: number;
}

/** The key is the path. */
export type FileVersions = ReadonlyMap<string, FileVersion>;

const NONE: FileVersion = { id: 'none', inode: 'none', size: 0 };

export function versionOf(path: string): FileVersion {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    const inode = `${dev} ${ino}`;
    return { id: [inode, size, mtimeMs, ctimeMs].join(' '), inode, size };
  } catch {
    return NONE;
  }
}

export function versionsOf(paths: Iterable<string>): FileVersions {
  return new Map(Array.from(paths, (path) => [path, versionOf(path)]));
}

export function areSame(one: FileVersions, other: FileVersions): boolean {
  return [...one].every(([path, { id }]) => other.get(path)?.id === id);
}

/** Whether a changed file was not replaced by another one, so that its writer may not have finished. */
export function isWrittenInPlace(before: FileVersions, now: FileVersions): boolean {
  return [...now].some(([path, { id, inode }]) => {
    const old = before.get(path) ?? NONE;
    const isReplaced = ![old.inode, inode].includes(NONE.inode) && old.inode !== inode;
    return old.id !== id && !isReplaced;
  });
}

export function becameShorter(before: FileVersions, now: FileVersions): boolean {
  return [...before].some(([path, { size }]) => (now.get(path)?.size ?? 0) < size);
}
