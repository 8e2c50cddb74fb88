import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import type { LogEntry } from '../../../../../src/cli/evidence/formats/log-format.ts';
import {
  EntryStream,
  type LineCounts,
} from '../../../../../src/cli/evidence/reading/entry-stream.ts';
import {
  type LogOptions,
  type OpenLog,
  openLog,
} from '../../../../../src/cli/evidence/reading/open-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-logs-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const OPTIONS = { format: 'auto', zone: 'UTC', timeIs: undefined, fields: [] } as const;
const open = (paths: readonly string[], more: Partial<LogOptions> = {}) =>
  openLog({ ...OPTIONS, ...more, paths });

/** A line of the format `combined`, so many seconds after ten. */
function combined(second: number, target = `/${second}`): string {
  const two = (value: number) => String(value % 60).padStart(2, '0');
  const clock = `${two(10 + Math.floor(second / 3600))}:${two(Math.floor(second / 60))}:${two(second)}`;
  return `203.0.113.${second % 200} - - [05/Jan/2026:${clock} +0000] "GET ${target} HTTP/1.1" 200 512 "-" "curl/8.5.0"\n`;
}

const lines = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => combined(from + i)).join('');

interface Read {
  readonly entries: LogEntry[];
  readonly counts: LineCounts;
  readonly log: OpenLog;
  readonly order: number[];
}

async function readAll(
  paths: readonly string[],
  more: Partial<LogOptions> = {},
  horizonMs = 60_000,
): Promise<Read> {
  const log = await open(paths, more);
  const parse = log.format.compile({ ...OPTIONS, ...more });
  const stream = new EntryStream(parse, {
    ...{ sources: paths.length, horizonMs, keep: (entry: LogEntry) => entry },
  });
  const entries: LogEntry[] = [];
  const order: number[] = [];
  const visit = (entry: LogEntry) => entries.push(entry);
  for await (const chunk of log.chunks()) {
    order.push(chunk.source);
    stream.add(chunk, visit);
  }
  stream.finish(visit);
  return { entries, counts: stream.counts, log, order };
}

async function* pieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += length) yield bytes.subarray(from, from + length);
}

const LONG = lines(0, 9_000);
const PLAIN = file('access.log', LONG);
const GZIP = gzipSync(LONG);

describe('the same entries come from', async () => {
  const { entries } = await readAll([PLAIN]);
  test('a plain file', () => {
    expect(entries).toHaveLength(9_000);
    expect(entries[8_999]).toMatchObject({ target: '/8999', address: '203.0.113.199' });
  });
  test.each([
    ['gzip', file('a.gz', GZIP)],
    ['zstd', file('a.zst', zstdCompressSync(LONG))],
    ['gzip under another name', file('a.log', GZIP)],
    [
      'gzip in two members',
      file('b.gz', Buffer.concat([gzipSync(lines(0, 4_000)), gzipSync(lines(4_000, 5_000))])),
    ],
    ['lines that end with CR LF', file('crlf.log', LONG.replaceAll('\n', '\r\n'))],
  ])('%s', async (_name, path) => {
    expect((await readAll([path])).entries).toEqual(entries);
  });
  test.each([
    ['plain', Buffer.from(LONG), 1_000],
    ['compressed', GZIP, 777],
    ['byte by byte at first', GZIP, 1],
  ])('standard input, %s', async (_name, bytes, length) => {
    const read = await readAll(['-'], { input: pieces(bytes, length) });
    expect(read.entries).toEqual(entries);
    expect(read.log.progress).toEqual({ bytesRead: bytes.length, bytesTotal: undefined });
  });
});

describe('several logs', () => {
  test('advance together in time', async () => {
    const even = Array.from({ length: 6_000 }, (_, i) => combined(2 * i)).join('');
    const odd = Array.from({ length: 6_000 }, (_, i) => combined(2 * i + 1)).join('');
    const { entries, counts, order } = await readAll([
      file('even', even),
      file('odd.gz', gzipSync(odd)),
    ]);
    expect(entries.map(({ target }) => target)).toEqual(
      Array.from({ length: 12_000 }, (_, i) => `/${i}`),
    );
    expect(counts.late).toBe(0);
    expect(order.slice(0, 2)).toEqual([0, 1]);
  });
  test('that follow each other are read one after the other, whatever their order is', async () => {
    const paths = [5, 2, 0, 4, 1, 3].map((i) => file(`rotated.${i}`, lines(i * 2_000, 2_000)));
    const { entries, counts, order } = await readAll(paths);
    expect(entries.map(({ target }) => target)).toEqual(
      Array.from({ length: 12_000 }, (_, i) => `/${i}`),
    );
    expect(counts).toMatchObject({ read: 12_000, understood: 12_000, late: 0, outOfOrder: 0 });
    expect(order.slice(6)).toEqual([2, 4, 1, 5, 3, 0]);
  });
  test('may be empty, but for one', async () => {
    const { entries } = await readAll([file('empty', ''), PLAIN, file('blank', '\n\n')]);
    expect(entries).toHaveLength(9_000);
  });
});

test('a log that is not read to its end is closed', async () => {
  const log = await open([PLAIN, file('second', lines(0, 9_000))]);
  for await (const chunk of log.chunks()) {
    expect(chunk.source).toBe(0);
    break;
  }
  expect(log.progress.bytesRead).toBeGreaterThan(0);
});

test('every log is cut into chunks of whole lines, each in memory of its own', async () => {
  const log = await open([file('c.gz', gzipSync(lines(0, 30_000)))]);
  const buffers = new Set<unknown>();
  const texts: string[] = [];
  for await (const { bytes } of log.chunks()) {
    buffers.add(bytes.buffer);
    expect(bytes.buffer.byteLength).toBe(bytes.byteLength);
    expect(bytes.byteLength).toBeLessThan(300_000);
    const text = Buffer.from(bytes).toString();
    expect(text).toMatch(/\n$/);
    texts.push(text);
  }
  expect(buffers.size).toBe(texts.length);
  expect(texts.join('')).toBe(lines(0, 30_000));
});

describe('a log out of order is cut alike, however its bytes come:', async () => {
  // All lines after the first chunk are too late, so each byte of its end counts.
  const late = Array.from({ length: 9_000 }, (_, i) => combined(0, `/${i}`));
  const bytes = Buffer.from(lines(600, 50) + late.join(''));
  const plain = await readAll([file('shuffled', bytes)]);
  test('some lines are late', () => {
    expect(plain.counts.late).toBeGreaterThan(8_000);
  });
  test.each([
    ['gzip', { paths: [file('shuffled.gz', gzipSync(bytes))] }],
    ['zstd', { paths: [file('shuffled.zst', zstdCompressSync(bytes))] }],
    ['small pieces', { paths: ['-'], input: pieces(bytes, 999) }],
    ['large pieces', { paths: ['-'], input: pieces(bytes, 500_001) }],
    ['one piece', { paths: ['-'], input: pieces(bytes, bytes.length) }],
  ])('%s', async (_name, { paths, ...more }) => {
    const { entries, counts } = await readAll(paths, more);
    expect(counts).toEqual(plain.counts);
    expect(entries).toEqual(plain.entries);
  });
});

describe('NULs', () => {
  test('before a line are dropped: log rotation leaves them', async () => {
    const { counts, log } = await readAll([
      file('rotated', `${'\0'.repeat(5_000)}${lines(0, 50)}`),
    ]);
    expect(log.format.name).toBe('nginx-combined');
    expect(counts).toMatchObject({ read: 50, understood: 50 });
  });
  test('in a line are part of it', async () => {
    const { entries } = await readAll([file('nul', `${combined(0, '/a\0b')}${lines(1, 3)}`)]);
    expect(entries[0]?.target).toBe('/a\0b');
  });
  test('may be more than a chunk has', async () => {
    const bytes = `${'\0'.repeat(300_000)}${LONG}`;
    for (const path of [file('sparse', bytes), file('sparse.gz', gzipSync(bytes))]) {
      const { counts } = await readAll([path]);
      expect(counts).toMatchObject({ read: 9_000, understood: 9_000 });
    }
  });
});

test('the middle of the last stamps in a chunk says which log is read next', async () => {
  const wrong = combined(8_990).replace('2026', '2031');
  const first = `${lines(0, 9_000)}${wrong}${lines(9_000, 9_000)}`;
  const { counts } = await readAll([file('leap', first), file('even.log', lines(0, 18_000))]);
  expect(counts).toMatchObject({ misread: 1, late: 0 });
});

describe('openLog refuses', () => {
  const CADDY = '{"level":"info"}\n';
  test.each<[string, string[], string]>([
    ['a file that is not there', ['/nowhere/access.log'], '/nowhere/access.log: does not exist'],
    ['a directory', [folder], `${folder}: is a directory; name the files in it`],
    ['an empty file', [file('none', '')], 'none: is empty; there is nothing to read'],
    ['a binary', [file('binary', Buffer.from([1, 2, 0, 4]))], 'binary: is binary, not a log'],
    ['bzip2', [file('x.bz2', 'BZh91AY')], 'bzcat'],
    [
      'another format',
      [file('other', `${CADDY}words\n`)],
      'of its 2 lines, none was understood: nginx-json fails at time, envoy-json fails at start_time',
    ],
    [
      'logs of two formats',
      [PLAIN, file('two', CADDY)],
      'two: is not of the format nginx-combined; of its only line, none was understood: line 1 fails at',
    ],
    [
      'damaged gzip',
      [file('bad.gz', Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 255, 255]))],
      'bad.gz: cannot be read: ',
    ],
  ])('%s', async (_name, paths, message) => {
    await expect(open(paths)).rejects.toThrow(message);
  });
  test('all of them at once', async () => {
    mkdirSync(join(folder, 'sub'), { recursive: true });
    await expect(open(['/nowhere/a', join(folder, 'sub')])).rejects.toMatchObject({
      name: 'LogError',
      lines: [expect.stringContaining('does not exist'), expect.stringContaining('is a directory')],
    });
  });
  test('a format that it does not know', async () => {
    await expect(open([PLAIN], { format: 'nginx-combind' })).rejects.toThrow(
      '--format: "nginx-combind" is no format, did you mean "nginx-combined"?',
    );
  });
});

describe('damage', () => {
  test('a gzip that is cut short gives what is there, and says so', async () => {
    const { entries, counts, log } = await readAll([
      file('cut.gz', GZIP.subarray(0, GZIP.length / 2)),
    ]);
    expect(entries.length).toBeGreaterThan(3_000);
    expect(counts.misread).toBeLessThanOrEqual(1);
    expect(log.truncated).toEqual([expect.stringMatching(/cut\.gz: is cut short or damaged: /)]);
  });
  test('a zstd that is cut short, too', async () => {
    const whole = zstdCompressSync(LONG);
    const { entries, log } = await readAll([file('cut.zst', whole.subarray(0, whole.length - 30))]);
    expect(log.truncated).toHaveLength(1);
    expect(entries.length).toBeGreaterThanOrEqual(0);
  });
  test('half a line at the end is counted', async () => {
    const { counts } = await readAll([file('half', LONG.slice(0, -60))]);
    expect(counts).toMatchObject({ read: 9_000, understood: 8_999, misread: 1 });
  });
  test('a whole last line needs no line break', async () => {
    const { counts } = await readAll([file('whole', LONG.trimEnd())]);
    expect(counts).toMatchObject({ read: 9_000, understood: 9_000 });
  });
  test('a line longer than 64 KB is counted, and does not stay in memory', async () => {
    const huge = 'x'.repeat(3_000_000);
    const { counts } = await readAll([file('long', `${lines(0, 2)}${huge}\n${lines(2, 2)}`)]);
    expect(counts).toMatchObject({ read: 5, understood: 4, misread: 1 });
    expect(counts.firstMisread[0]).toMatchObject({ line: 3, field: 'line (longer than 64 KB)' });
    expect(counts.firstMisread[0]?.text).toHaveLength(1_000);
  });
});
