/**
 * How many lines of an access log does one thread read in a second of CPU time, by format?
 *
 * `entries` parses every line. `in order` also cuts the lines out of the bytes, unwraps them and gives the entries in the
 * order of their start. `lines only` cuts the lines and does nothing with them: no reader could be faster. All logs are in
 * memory, and take turns.
 */
import { FORMATS, formatNamed } from '../src/cli/evidence/formats/index.ts';
import { type LogFormat, Misread, type ParseLine } from '../src/cli/evidence/formats/log-format.ts';
import { EntryStream } from '../src/cli/evidence/reading/entry-stream.ts';
import { printTable, spread } from '../tools/table.ts';
import { machineLine } from './support/machine.ts';

const ROUNDS = 5;
/** The clock of CPU time has steps of 4 ms. */
const LEAST_MICROS = 100_000;
const LINES = 20_000;
const CHUNK_LINES = 1_000;
const HORIZON_MS = 60_000;
/** Lines of one second. */
const LINES_PER_SECOND = 400;
const AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
const OPTIONS = { zone: 'UTC', timeIs: undefined, fields: [] } as const;
const OWN_FORMAT = '$remote_addr [$time_local] "$request" $status $request_time "$http_user_agent"';
const OWN_LINE = `203.0.113.9 [05/Jan/2026:10:20:30 +0000] "GET /search?q=1 HTTP/1.1" 200 0.012 "${AGENT}"`;

interface Log {
  readonly name: string;
  readonly parse: ParseLine;
  readonly chunks: readonly Buffer[];
  readonly lines: readonly string[];
}

/** The line of a format with other clients, pages and seconds; a usual user agent in place of curl's. */
function variants(line: string): string[] {
  return Array.from({ length: LINES }, (_, i) => {
    const second = 10 + (Math.floor(i / LINES_PER_SECOND) % 50);
    return line
      .replaceAll('curl/8.5.0', AGENT)
      .replaceAll('203.0.113.9', `203.0.${i % 200}.${(i * 7) % 250}`)
      .replaceAll(':20:30', `:20:${second}`)
      .replaceAll('1767608430', String(1767608400 + second))
      .replace('/search?q=1', `/search?q=shoes&page=${i}`);
  });
}

function logOf({ name }: LogFormat, line: string): Log {
  const lines = variants(line);
  const chunks = Array.from({ length: LINES / CHUNK_LINES }, (_, i) =>
    Buffer.from(`${lines.slice(i * CHUNK_LINES, (i + 1) * CHUNK_LINES).join('\n')}\n`, 'latin1'),
  );
  // As they come out of bytes: the texts made above are ropes.
  const flat = chunks.flatMap((chunk) => chunk.toString('latin1').split('\n').slice(0, -1));
  const bytes = flat.map((each) => Buffer.from(each, 'latin1').toString('latin1'));
  return { name, parse: formatNamed(name).compile(OPTIONS), chunks, lines: bytes };
}

function parseAll({ parse, lines }: Log): void {
  for (const line of lines) {
    const made = parse(line);
    if (made === undefined || made instanceof Misread) throw new Error(`misread: ${line}`);
  }
}

function readInOrder({ parse, chunks }: Log): void {
  const stream = new EntryStream(parse, {
    ...{ sources: 1, horizonMs: HORIZON_MS },
    keep: (entry) => entry,
  });
  let visited = 0;
  const visit = () => {
    visited++;
  };
  for (const bytes of chunks) stream.add({ source: 0, bytes, isLast: false }, visit);
  stream.finish(visit);
  if (visited + stream.counts.late !== LINES) throw new Error(`${visited} of ${LINES} entries`);
}

function cutLines({ chunks }: Log): void {
  let length = 0;
  for (const chunk of chunks) {
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(10, from);
      length += chunk.toString('latin1', from, end).length;
      from = end + 1;
    }
  }
  if (length === 0) throw new Error('no lines');
}

/** Millions of lines per second of CPU time of this thread: others may use the machine, too. */
function speedOf(work: (log: Log) => void, log: Log): number {
  const before = process.threadCpuUsage();
  for (let lines = LINES; ; lines += LINES) {
    work(log);
    const { user, system } = process.threadCpuUsage(before);
    if (user + system >= LEAST_MICROS) return lines / (user + system);
  }
}

/** A line with a request, without what syslog puts before it. */
function lineOf({ samples }: LogFormat): string {
  return (samples.find((line) => line.includes('/search?q=1')) ?? '').replace(
    /^.*haproxy\[\d+\]: /,
    '',
  );
}

const own = formatNamed(OWN_FORMAT);
const logs = [...FORMATS.map((format) => logOf(format, lineOf(format))), logOf(own, OWN_LINE)];
const columns = [
  { name: 'entries, M/s', work: parseAll },
  { name: 'in order, M/s', work: readInOrder },
  { name: 'lines only, M/s', work: cutLines },
];
const rows = logs.map((log) => ({ log, speeds: columns.map((): number[] => []) }));
for (let round = -1; round < ROUNDS; round++) {
  for (const { log, speeds } of rows) {
    columns.forEach(({ work }, i) => {
      const speed = speedOf(work, log);
      if (round >= 0) speeds[i]?.push(speed);
    });
  }
}
console.log(`${machineLine()}; ${ROUNDS} rounds. Median (least to most).\n`);
printTable(
  rows.map(({ log, speeds }) => ({
    format: log.name === OWN_FORMAT ? 'a log_format string' : log.name,
    'bytes per line': (log.lines.join('').length / LINES).toFixed(0),
    ...Object.fromEntries(columns.map(({ name }, i) => [name, spread(speeds[i] ?? [], 2)])),
  })),
);
