/** A progress line on a terminal: how much of the logs is read, how fast, and for how long still. Nothing otherwise. */
import { durationText } from '../../gateway/operations/texts.ts';
import { count } from './figures.ts';
import type { LogProgress } from './reading/open-log.ts';

export interface Progress extends Disposable {
  lines(count: number): void;
}

const EVERY_MS = 200;
const BAR_WIDTH = 24;

/** `log.progress` is read again for each line. `draw`: see `terminalLine`. */
export function startProgress(
  log: { readonly progress: LogProgress },
  draw: ((text: string) => void) | undefined,
): Progress {
  if (draw === undefined) return { lines: () => {}, [Symbol.dispose]: () => {} };
  const startedMs = performance.now();
  let lines = 0;
  const timer = setInterval(
    () => draw(progressText({ ...log.progress, lines, elapsedMs: performance.now() - startedMs })),
    EVERY_MS,
  ).unref();
  return {
    lines(read) {
      lines = read;
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      draw('');
    },
  };
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
