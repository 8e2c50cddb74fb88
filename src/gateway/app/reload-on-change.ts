/** Reads files again when they change, or on demand, one time after the other. */
import { type Watched, watchFiles } from '../config/file-watch.ts';

/** Reads the files; never rejects. `settledMs`: how long they have not changed; undefined: on demand. */
type Reload = (settledMs?: number) => Promise<void>;

/** The function that this returns reloads the files at once, and resolves when that is done. */
export function reloadOnChange(watched: Watched, reload: Reload): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isDemanded = false;
  const run = async (settledMs: number | undefined) => {
    await reload(settledMs);
    while (isDemanded) {
      isDemanded = false;
      await reload();
    }
    running = undefined;
  };
  watchFiles(watched, (settledMs) => {
    running ??= run(settledMs);
    return running;
  });
  return () => {
    // The files may have changed since the running reload read them.
    isDemanded = running !== undefined;
    running ??= run(undefined);
    return running;
  };
}
