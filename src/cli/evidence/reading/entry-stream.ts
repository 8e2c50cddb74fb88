/** The entries of a log, in the order of their start. */
import { type LogEntry, Misread, type ParseLine } from '../formats/log-format.ts';
import { type LogChunk, MAX_LINE_BYTES } from './line-cutter.ts';
import { StartGuard } from './start-guard.ts';
import { Unwrapper } from './unwrapper.ts';
import { WaitingEntries } from './waiting-entries.ts';

export interface MisreadLine {
  readonly source: number;
  readonly line: number;
  /** One character per byte; the beginning of a long line. */
  readonly text: string;
  readonly field: string;
}

export type LineCounts = Readonly<EntryStream<LogEntry>['counts']>;

export interface EntryStreamOptions<Kept> {
  readonly sources: number;
  readonly horizonMs: number;
  /**
   * What to visit when the entry's turn has come; undefined for nothing. Called for every entry that is not late, before
   * they are in order.
   */
  readonly keep: (entry: LogEntry) => Kept | undefined;
  readonly onMisread?: (line: MisreadLine) => void;
}

type Visit<Kept> = (kept: Kept) => void;

const FIRST_MISREAD = 10;
const MAX_SHOWN = 1_000;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

interface HeldLine {
  readonly startMs: number;
  readonly entry: LogEntry;
  readonly line: number;
  readonly text: string;
}

interface Source {
  readonly unwrapper: Unwrapper;
  readonly starts: StartGuard<HeldLine>;
  line: number;
  isDone: boolean;
}

/** Its result depends on the chunks and their order alone. */
export class EntryStream<Kept> {
  readonly #parse: ParseLine;
  readonly #options: EntryStreamOptions<Kept>;
  readonly #sources: readonly Source[];
  /** Entries that start before were visited. It depends on the chunks alone, also if only some entries are wanted. */
  #visitedUntilMs = Number.NEGATIVE_INFINITY;
  readonly #waiting = new WaitingEntries<Kept>();
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

  constructor(parse: ParseLine, options: EntryStreamOptions<Kept>) {
    this.#parse = parse;
    this.#options = options;
    this.#sources = Array.from({ length: options.sources }, () => ({
      unwrapper: new Unwrapper(),
      starts: new StartGuard<HeldLine>(options.horizonMs),
      line: 0,
      isDone: false,
    }));
  }

  /**
   * Visits the entries that are ready: those that start a horizon or more before the latest start of every source that
   * has more, or earlier than that if too many are waiting.
   */
  add({ source: index, bytes, isLast }: LogChunk, visit: Visit<Kept>): void {
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
    if (isLast) this.#judge(source.starts.finish(), index);
    this.#visitUntil(this.#readyMs(), visit);
  }

  finish(visit: Visit<Kept>): void {
    for (const [index, { starts }] of this.#sources.entries()) {
      this.#judge(starts.finish(), index);
      this.counts.outOfOrder += starts.outOfOrder;
    }
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
    } else if (source.starts.takes(made.startMs)) this.#take(made, index, line.length);
    else {
      const held = { startMs: made.startMs, entry: made, line: source.line, text: line };
      this.#judge(source.starts.hold(held), index);
    }
  }

  #judge(lines: ReturnType<Source['starts']['hold']>, source: number): void {
    for (const { line: held, isRight } of lines) {
      const { entry, line, text } = held;
      if (isRight) this.#take(entry, source, text.length);
      else
        this.#misread({ source, line, text, field: 'time (far from that of the lines around it)' });
    }
  }

  #take(entry: LogEntry, source: number, lineLength: number): void {
    this.counts.understood++;
    const { startMs } = entry;
    if (startMs < this.#visitedUntilMs) this.counts.late++;
    else this.#waiting.add({ kept: this.#options.keep(entry), startMs, source }, lineLength);
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
    for (const { isDone, starts } of this.#sources) {
      if (!isDone && starts.latestMs < earliestMs) earliestMs = starts.latestMs;
    }
    return earliestMs - this.#options.horizonMs;
  }

  #visitUntil(readyMs: number, visit: Visit<Kept>): void {
    const untilMs = this.#waiting.visitUntil(readyMs, visit);
    this.#visitedUntilMs = Math.max(this.#visitedUntilMs, untilMs);
  }
}
