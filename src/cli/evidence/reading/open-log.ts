/** Opens logs: finds their format, and gives their bytes so that they advance together in time. */
import { formatNamed } from '../formats/index.ts';
import {
  type LogFormat,
  Misread,
  type ParseLine,
  type ParseOptions,
} from '../formats/log-format.ts';
import { type Beginning, chooseFormat, firstLines } from './choose-format.ts';
import type { LogChunk } from './line-cutter.ts';
import { LogError } from './log-error.ts';
import { LogSource, type SourceChunk } from './log-source.ts';
import { Unwrapper } from './unwrapper.ts';

export interface LogOptions extends ParseOptions {
  /** `-` is standard input. */
  readonly paths: readonly string[];
  readonly format: string;
  /** What `-` reads, if not standard input. */
  readonly input?: AsyncIterable<Uint8Array>;
}

export interface LogProgress {
  readonly bytesRead: number;
  readonly bytesTotal: number | undefined;
}

export interface OpenLog {
  readonly format: LogFormat;
  readonly detected: string;
  readonly sources: readonly string[];
  /** Of every log, a thousand at most. */
  readonly firstLines: readonly string[];
  /** To be read once. The next chunk is that of the source whose last entry is the earliest. */
  chunks(): AsyncGenerator<LogChunk>;
  readonly progress: LogProgress;
  readonly truncated: readonly string[];
}

/** Small, as there may be hundreds of files; large enough for detection. */
const FIRST_BYTES = 65_536;
const CHUNK_BYTES = 262_144;
const FIRST_LINES = 1_000;
const LINE_FEED = 10;

/** Throws a LogError with all problems of the files, or a ConfigError. */
export async function openLog(options: LogOptions): Promise<OpenLog> {
  const { paths, format: wanted } = options;
  if (wanted !== 'auto') formatNamed(wanted).compile(options);
  const sources = paths.map((path) => new LogSource(path, options.input ?? process.stdin));
  await throwProblems(sources, (source) => source.problem());
  const firsts: SourceChunk[] = [];
  const beginnings: Beginning[] = [];
  await throwProblems(sources, async (source) => {
    const chunk = await source.first(FIRST_BYTES);
    firsts.push(chunk);
    beginnings.push({ name: source.name, lines: firstLines(chunk.bytes) });
    return problemOf(source, chunk);
  });
  const choice = chooseFormat(wanted, beginnings);
  const parse = choice.format.compile(options);
  // A first line may name the columns.
  for (const [source, { lines }] of beginnings.entries()) {
    for (const line of lines) parse(line, source);
  }
  return {
    ...choice,
    sources: sources.map(({ name }) => name),
    firstLines: beginnings.flatMap(({ lines }) => lines.slice(0, FIRST_LINES / sources.length)),
    chunks: () => inTime(sources, firsts, parse),
    get progress() {
      return progressOf(sources);
    },
    get truncated() {
      return sources.flatMap(({ name, cut }) =>
        cut === undefined ? [] : [`${name}: is cut short or damaged: ${cut}`],
      );
    },
  };
}

async function throwProblems(
  sources: readonly LogSource[],
  problem: (source: LogSource) => Promise<string | undefined>,
): Promise<void> {
  const problems: string[] = [];
  for (const source of sources) {
    const found = await problem(source);
    if (found !== undefined) problems.push(`${source.name}: ${found}`);
  }
  if (problems.length === 0) return;
  await Promise.all(sources.map((source) => source.close()));
  throw new LogError(problems);
}

function problemOf({ cut }: LogSource, { bytes }: SourceChunk): string | undefined {
  return cut !== undefined && bytes.length === 0 ? `cannot be read: ${cut}` : undefined;
}

function progressOf(sources: readonly LogSource[]): LogProgress {
  let [read, total] = [0, 0];
  for (const { bytesRead, size = Number.NaN } of sources) {
    read += bytesRead;
    total += size;
  }
  return { bytesRead: read, bytesTotal: Number.isNaN(total) ? undefined : total };
}

async function* inTime(
  sources: readonly LogSource[],
  firsts: readonly SourceChunk[],
  parse: ParseLine,
): AsyncGenerator<LogChunk> {
  const lastMs = new Map<number, number>();
  const lastStart = lastStarts(parse);
  try {
    for (const [source, chunk] of firsts.entries()) {
      const startMs = lastStart(chunk.bytes, source) ?? Number.NEGATIVE_INFINITY;
      if (!chunk.isLast) lastMs.set(source, startMs);
      yield { source, ...chunk };
    }
    const readNext = () => {
      const [earliest] = [...lastMs].sort(([, a], [, b]) => a - b);
      const [source = -1] = earliest ?? [];
      return { source, reading: sources[source]?.next(CHUNK_BYTES) };
    };
    let ahead = readNext();
    while (ahead.reading !== undefined) {
      const { source } = ahead;
      const chunk: SourceChunk = await ahead.reading;
      if (chunk.isLast) lastMs.delete(source);
      else lastMs.set(source, lastStart(chunk.bytes, source) ?? lastMs.get(source) ?? 0);
      // Reads ahead while this chunk is parsed.
      ahead = readNext();
      yield { source, ...chunk };
    }
  } finally {
    await Promise.all(sources.map((source) => source.close()));
  }
}

const LAST_ENTRIES = 9;

/** The middle one of the last starts in a chunk: one stamp may be wrong. */
function lastStarts(parse: ParseLine) {
  return (bytes: Buffer, source: number): number | undefined => {
    const starts: number[] = [];
    let end = bytes.length;
    while (end > 0 && starts.length < LAST_ENTRIES) {
      const from = end < 2 ? 0 : bytes.lastIndexOf(LINE_FEED, end - 2) + 1;
      const written = bytes.toString('latin1', from, end).replace(/\r?\n?$/, '');
      const line = new Unwrapper().unwrap(written);
      const made = line === undefined ? undefined : parse(line, source);
      if (made !== undefined && !(made instanceof Misread)) starts.push(made.startMs);
      end = from;
    }
    return starts.sort((a, b) => a - b)[starts.length >> 1];
  };
}
