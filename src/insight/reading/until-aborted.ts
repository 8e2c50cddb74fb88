/** Gives the chunks of a log until a signal ends the reading, also while it waits for standard input. */
import type { LogChunk } from './log-chunk.ts';

/** The note of a report on a part of a log. */
export const INTERRUPTED = 'The reading was interrupted: the figures are of the lines read so far.';

export async function* untilAborted(
  chunks: AsyncGenerator<LogChunk>,
  signal: AbortSignal,
): AsyncGenerator<LogChunk> {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const stop = () => resolve(undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const next = await Promise.race([chunks.next(), aborted]);
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Not awaited: it would wait for the chunk that may never come.
    void chunks.return(undefined);
  }
}
