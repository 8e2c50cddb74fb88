/** The entries of a log, in the order of their start. */
import { type LogEntry, Misread, type ParseLine } from '../formats/log-format.ts';
import { type LogChunk, MAX_LINE_BYTES } from './line-cutter.ts';
import { Unwrapper } from './unwrapper.ts';
import { WaitingEntries } from './waiting-entries.ts';

export interface MisreadLine {
  readonly source: number;
  readonly line: number;
  /** One character per byte; the beginning of a long line. */
  readonly text: string;
  readonly field: string;
}

export type LineCounts = Readonly<EntryStream['counts']>;

export interface EntryStreamOptions {
  readonly sources: number;
  readonly horizonMs: number;
  /** Others are not visited. Called for every entry that is not late, before they are in order. */
  readonly isWanted?: (entry: LogEntry) => boolean;
  readonly onMisread?: (line: MisreadLine) => void;
}

export type Visit = (entry: LogEntry) => void;

const FIRST_MISREAD = 10;
const MAX_SHOWN = 1_000;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

interface Source {
  readonly unwrapper: Unwrapper;
  line: number;
  latestMs: number;
  isDone: boolean;
}

/** Its result depends on the chunks and their order alone. */
export class EntryStream {
  readonly #parse: ParseLine;
  readonly #options: EntryStreamOptions;
  readonly #sources: readonly Source[];
  /** Entries that start before were visited. It depends on the chunks alone, also if only some entries are wanted. */
  #visitedUntilMs = Number.NEGATIVE_INFINITY;
  readonly #waiting = new WaitingEntries();
  /** `read` is the sum of the next three; blank lines are left out. */
  readonly counts = {
    read: 0,
    understood: 0,
    withoutRequest: 0,
    misread: 0,
    firstMisread: [] as MisreadLine[],
    /** Entries that start before an earlier line of their source. */
    outOfOrder: 0,
    /** Entries that came when later ones may have been visited already. They are skipped. */
    late: 0,
  };

  constructor(parse: ParseLine, options: EntryStreamOptions) {
    this.#parse = parse;
    this.#options = options;
    this.#sources = Array.from({ length: options.sources }, () => ({
      unwrapper: new Unwrapper(),
      line: 0,
      latestMs: Number.NEGATIVE_INFINITY,
      isDone: false,
    }));
  }

  /**
   * Visits the entries that are ready: those that start a horizon or more before the latest start of every source that
   * has more, or earlier than that if too many are waiting.
   */
  add({ source: index, bytes, isLast }: LogChunk, visit: Visit): void {
    const source = this.#sources[index] as Source;
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let from = 0;
    while (from < buffer.length) {
      const feed = buffer.indexOf(LINE_FEED, from);
      const end = feed < 0 ? buffer.length : feed;
      const last = end > from && buffer[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
      source.line++;
      if (last > from) this.#read(buffer.toString('latin1', from, last), index, source);
      from = end + 1;
    }
    source.isDone = isLast;
    this.#visitUntil(this.#readyMs(), visit);
  }

  finish(visit: Visit): void {
    this.#visitUntil(Number.POSITIVE_INFINITY, visit);
  }

  #read(text: string, index: number, source: Source): void {
    const counts = this.counts;
    if (text.length > MAX_LINE_BYTES) {
      counts.read++;
      this.#misread({ source: index, line: source.line, text, field: 'line (longer than 64 KB)' });
      return;
    }
    const line = source.unwrapper.unwrap(text);
    if (line === undefined || line.trim() === '') return;
    counts.read++;
    const made = this.#parse(line, index);
    if (made === undefined) counts.withoutRequest++;
    else if (made instanceof Misread) {
      this.#misread({ source: index, line: source.line, text: line, field: made.field });
    } else {
      counts.understood++;
      this.#take({ entry: made, source: index }, source, text.length);
    }
  }

  #take(waiting: { entry: LogEntry; source: number }, source: Source, lineLength: number): void {
    const { entry } = waiting;
    if (entry.startMs >= source.latestMs) source.latestMs = entry.startMs;
    else this.counts.outOfOrder++;
    if (entry.startMs < this.#visitedUntilMs) this.counts.late++;
    else this.#waiting.add(waiting, lineLength, this.#options.isWanted?.(entry) ?? true);
  }

  #misread(line: MisreadLine): void {
    const { firstMisread } = this.counts;
    this.counts.misread++;
    if (firstMisread.length < FIRST_MISREAD) {
      firstMisread.push({ ...line, text: line.text.slice(0, MAX_SHOWN) });
    }
    this.#options.onMisread?.(line);
  }

  #readyMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const { isDone, latestMs } of this.#sources) {
      if (!isDone && latestMs < earliestMs) earliestMs = latestMs;
    }
    return earliestMs - this.#options.horizonMs;
  }

  #visitUntil(readyMs: number, visit: Visit): void {
    const untilMs = this.#waiting.visitUntil(readyMs, visit);
    this.#visitedUntilMs = Math.max(this.#visitedUntilMs, untilMs);
  }
}
