/** Reads access logs, and says what a reader of figures from them must know. */
import { count, counted } from '../evidence/figures.ts';
import type { LogEntry } from '../evidence/formats/log-format.ts';
import { type LogFlags, openLogs, parsingOf } from '../evidence/log-options.ts';
import { startProgress } from '../evidence/progress.ts';
import { EntryStream, type LineCounts } from '../evidence/reading/entry-stream.ts';
import { LogError } from '../evidence/reading/log-error.ts';
import type { OpenLog } from '../evidence/reading/open-log.ts';
import { INTERRUPTED, untilAborted } from '../evidence/reading/until-aborted.ts';
import { interruptible } from '../output/interrupt.ts';
import { terminalLine } from '../output/output.ts';

export interface ReadLog {
  readonly log: OpenLog;
  readonly counts: LineCounts;
  /** Ctrl+C ended the reading early. */
  readonly isInterrupted: boolean;
}

/** Visits the entries in the order of their start. Throws a LogError or a ConfigError. */
export async function readLog(
  paths: readonly string[],
  flags: LogFlags,
  visit: (entry: LogEntry) => void,
): Promise<ReadLog> {
  const log = await openLogs(paths, flags);
  const parse = log.format.compile(parsingOf(flags));
  const stream = new EntryStream(parse, { sources: log.sources.length, horizonMs: flags.horizon });
  using interrupt = interruptible();
  using progress = startProgress(log, terminalLine());
  for await (const chunk of untilAborted(log.chunks(), interrupt.signal)) {
    stream.add(chunk, visit);
    progress.lines(stream.counts.read);
    // Lets Ctrl+C and the progress come through.
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.finish(visit);
  if (stream.counts.understood === 0) {
    throw new LogError(log.sources.map((name) => `${name}: has no request that is understood`));
  }
  interrupt.end();
  return { log, counts: stream.counts, isInterrupted: interrupt.signal.aborted };
}

export function readingNotes(
  { log, counts, isInterrupted }: ReadLog,
  { timeIs }: LogFlags,
): string[] {
  const { read, misread, late, firstMisread } = counts;
  const notes = [`${log.detected}.`, ...log.truncated.map((text) => `${text}.`)];
  if (isInterrupted) notes.push(INTERRUPTED);
  if ((timeIs ?? log.format.timeIs) === 'end') {
    notes.push('Requests are counted at their end, because the log does not have their start.');
  }
  if (misread > 0) {
    const [first] = firstMisread;
    const example =
      first === undefined
        ? ''
        : `: the first is line ${first.line} of ${log.sources[first.source]}, which fails at ${first.field}`;
    notes.push(`${count(misread)} of ${counted(read, 'line')} are not understood${example}.`);
  }
  if (late > 0) {
    notes.push(
      `${counted(late, 'request')} came too late in the log to be put in order (--horizon), and are left out.`,
    );
  }
  return notes;
}
