/** Gives the chunks of a log until a signal ends the reading, also while it waits for standard input. */
import type { LogChunk } from './line-cutter.ts';

export const INTERRUPTED = 'The reading was interrupted: the figures are of the lines read so far.';

export async function* untilAborted(
  chunks: AsyncGenerator<LogChunk>,
  signal: AbortSignal,
): AsyncGenerator<LogChunk> {
  let stop = () => {};
  const onAbort = () => stop();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      // Not Promise.race: a promise that never settles would keep every chunk in memory.
      const next = await new Promise<IteratorResult<LogChunk> | undefined>((resolve, reject) => {
        stop = () => resolve(undefined);
        chunks.next().then(resolve, reject);
      });
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: it would wait for the chunk that may never come.
    void chunks.return(undefined);
  }
}
