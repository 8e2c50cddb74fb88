/** Gives the chunks of a log until a signal ends the reading, with a progress line on a terminal. */
import { durationText } from '../../../gateway/operations/texts.ts';
import { terminalLine } from '../../output/output.ts';
import { count } from '../figures.ts';
import type { LogChunk } from './line-cutter.ts';
import type { LogProgress, OpenLog } from './open-log.ts';

const EVERY_MS = 200;
const BAR_WIDTH = 24;

export async function* readChunks(
  log: OpenLog,
  signal: AbortSignal,
  linesRead: () => number,
): AsyncGenerator<LogChunk> {
  const draw = terminalLine();
  const startedMs = performance.now();
  const show = () => {
    const elapsedMs = performance.now() - startedMs;
    draw?.(progressText({ ...log.progress, lines: linesRead(), elapsedMs }));
  };
  const timer = setInterval(show, EVERY_MS).unref();
  try {
    yield* untilAborted(log.chunks(), signal);
  } finally {
    clearInterval(timer);
    draw?.('');
  }
}

export const INTERRUPTED = 'The reading was interrupted: the figures are of the lines read so far.';

/** Ends also while it waits for standard input. */
async function* untilAborted(
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

interface Reading extends LogProgress {
  readonly lines: number;
  readonly elapsedMs: number;
}

/** `[######------------------]  25 %  1,234,567 lines, 400,000/s, 12 s left` */
function progressText({ bytesRead, bytesTotal, lines, elapsedMs }: Reading): string {
  const perSecond = elapsedMs === 0 ? 0 : Math.round((lines * 1_000) / elapsedMs);
  const read = `${count(lines)} lines, ${count(perSecond)}/s`;
  if (bytesTotal === undefined || bytesTotal === 0) return read;
  const share = Math.min(1, bytesRead / bytesTotal);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = '#'.repeat(filled).padEnd(BAR_WIDTH, '-');
  const percent = String(Math.floor(share * 100)).padStart(3);
  const leftS = share === 0 ? undefined : Math.ceil((elapsedMs / share - elapsedMs) / 1_000);
  return `[${bar}] ${percent} %  ${read}${leftS === undefined ? '' : `, ${durationText(leftS)} left`}`;
}
