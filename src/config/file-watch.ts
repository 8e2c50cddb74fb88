/**
 * Notices that files have changed, however they are replaced: written over, renamed over, or, as Kubernetes mounts its
 * ConfigMaps, by a symbolic link in their path that points elsewhere. A watch on a file follows what was there at first,
 * so the folders are watched; and since some file systems tell of nothing, everything is looked at now and then.
 */
import { type FSWatcher, realpathSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/** Editors and mounts change several things in a row. */
const SETTLED_AFTER_MS = 50;
const LOOK_EVERY_MS = 5_000;

/** What is watched: the paths may be others after each change. */
export interface Watched {
  readonly files: readonly string[];
  /** Whether a file is not what it was when reading it last began. */
  isStale(): boolean;
}

/** As long as the process lives. `onStale` resolves once the files have been read again, or cannot be. */
export function watchFiles(watched: Watched, onStale: () => Promise<void>): void {
  const watchers = new Map<string, FSWatcher>();
  let settling: NodeJS.Timeout | undefined;

  const look = async () => {
    if (watched.isStale()) await onStale();
    watchFolders();
  };
  const lookSoon = () => {
    clearTimeout(settling);
    settling = setTimeout(look, SETTLED_AFTER_MS);
  };
  const watchFolders = () => {
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
  const addWatcher = (folder: string) => {
    try {
      const watcher = watch(folder, { persistent: false }, lookSoon);
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

  watchFolders();
  setInterval(look, LOOK_EVERY_MS).unref();
}

/** Where a file is named, and where it is. */
function foldersOf(path: string): string[] {
  try {
    return [dirname(path), dirname(realpathSync(path))];
  } catch {
    return [dirname(path)];
  }
}
