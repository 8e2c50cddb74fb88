import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LogEntry, Misread } from '../../../../../src/cli/evidence/formats/log-format.ts';
import { EntryStream } from '../../../../../src/cli/evidence/reading/entry-stream.ts';

/** A line is the start of its entry, in seconds, and a name. */
function parse(line: string): LogEntry | Misread | undefined {
  const [second = '', target = ''] = line.split(' ');
  if (second === 'none') return undefined;
  if (!/^\d+$/.test(second)) return new Misread('second');
  return {
    startMs: Number(second) * 1000,
    method: 'GET',
    target,
    host: undefined,
    address: undefined,
    forwardedFor: undefined,
    status: undefined,
    userAgent: undefined,
    fields: [],
  };
}

interface Chunk {
  readonly source?: number;
  readonly lines: readonly string[];
  readonly isLast?: boolean;
}

/** The first stamps of a log are judged by a hundred lines. */
const BEFORE = Array.from({ length: 101 }, () => '0 before');

function readAll(chunks: readonly Chunk[], horizonMs = 60_000) {
  const sources = 1 + Math.max(...chunks.map(({ source = 0 }) => source));
  const stream = new EntryStream(parse, { sources, horizonMs, keep: (entry) => entry });
  const visited: string[] = [];
  const ready: number[] = [];
  const visit = ({ startMs, target }: LogEntry) => {
    if (target !== 'before') visited.push(`${startMs / 1000} ${target}`.trim());
  };
  for (const { source = 0, lines, isLast = false } of chunks) {
    stream.add(
      { source, bytes: Buffer.from(lines.map((line) => `${line}\n`).join('')), isLast },
      visit,
    );
    ready.push(visited.length);
  }
  stream.finish(visit);
  return { visited, ready, counts: stream.counts };
}

test('entries are visited in the order of their start', () => {
  const { visited, counts } = readAll([{ lines: ['30', '10', '20 a', '20 b', '5'] }]);
  expect(visited).toEqual(['5', '10', '20 a', '20 b', '30']);
  expect(counts).toMatchObject({ read: 5, understood: 5, outOfOrder: 4, late: 0 });
});

test('an entry is visited once none within the horizon can come before it', () => {
  const { visited, ready } = readAll([
    { lines: [...BEFORE, '0', '59'] },
    { lines: ['60'] },
    { lines: ['119'] },
    { lines: ['200'] },
  ]);
  expect(ready).toEqual([0, 1, 2, 4]);
  expect(visited).toEqual(['0', '59', '60', '119', '200']);
});

test('what comes after the horizon is counted, and skipped: time never goes back', () => {
  const { visited, counts } = readAll([
    { lines: [...BEFORE, '0', '100', '200'] },
    { lines: ['50', '150', '300'] },
  ]);
  expect(visited).toEqual(['0', '100', '150', '200', '300']);
  expect(counts).toMatchObject({ understood: 107, outOfOrder: 2, late: 1 });
});

test('every source that has more is waited for', () => {
  const { visited, ready } = readAll([
    { source: 0, lines: [...BEFORE, '0', '500'] },
    { source: 1, lines: [...BEFORE, '100', '400'] },
    { source: 1, lines: ['450'], isLast: true },
    { source: 0, lines: ['600'], isLast: true },
  ]);
  expect(ready).toEqual([0, 2, 3, 6]);
  expect(visited).toEqual(['0', '100', '400', '450', '500', '600']);
});

describe('a stamp far from those of the lines around it', () => {
  const FIELD = 'time (far from that of the lines around it)';
  const at = (year: number) => String(Date.UTC(year, 0) / 1000);
  const second = (year: number, i: number) => `${Date.UTC(year, 0) / 1000 + i} ${i}`;
  const log = (length: number, wrong: Readonly<Record<number, string>>) =>
    Array.from({ length }, (_, i) => wrong[i] ?? second(2026, i));
  const inHours = (hours: number) => `${Date.UTC(2026, 0) / 1000 + 3_600 * hours} wrong`;

  test.each<[string, Readonly<Record<number, string>>]>([
    ['two hours later', { 100: inHours(2) }],
    ['a day later', { 100: inHours(24) }],
    ['years later', { 100: `${at(2031)} wrong` }],
    ['years earlier', { 100: `${at(2001)} wrong` }],
    ['years later, in the first line', { 0: `${at(2031)} wrong` }],
    ['years earlier, in the first line', { 0: `${at(2001)} wrong` }],
    ['a day later, in the first line', { 0: inHours(24) }],
    ['years later, in the last line', { 299: `${at(2031)} wrong` }],
    ['years earlier, in the last line', { 299: `${at(2001)} wrong` }],
    ['in three lines after each other', { 7: inHours(9), 8: inHours(9), 9: `${at(2031)} wrong` }],
    [
      'in 40 lines after each other',
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [90 + i, inHours(24)])),
    ],
    [
      'in the last five lines',
      Object.fromEntries([5, 4, 3, 2, 1].map((i) => [300 - i, inHours(9_999)])),
    ],
  ])('is not understood, and makes no other line late: %s', (_name, wrong) => {
    const lines = log(300, wrong);
    for (const size of [1, 7, 300]) {
      const chunks = Array.from({ length: Math.ceil(300 / size) }, (_, i) => ({
        lines: lines.slice(i * size, (i + 1) * size),
      }));
      const { visited, counts } = readAll(chunks);
      const misread = Object.keys(wrong).length;
      expect(visited).toEqual(lines.filter((line) => !line.endsWith('wrong')));
      expect(counts).toMatchObject({ read: 300, understood: 300 - misread, misread, late: 0 });
      expect(counts.firstMisread[0]).toMatchObject({
        field: FIELD,
        line: 1 + Number(Object.keys(wrong)[0]),
      });
    }
  });

  test.each<[string, readonly string[]]>([
    ['an hour without requests', [second(2026, 0), second(2026, 4_000), second(2026, 9_000)]],
    ['a day in every line', Array.from({ length: 50 }, (_, i) => second(2026, i * 86_400))],
    ['years between two parts', [...log(40, {}).map((_, i) => second(2019, i)), ...log(40, {})]],
    ['the last line first', Array.from({ length: 200 }, (_, i) => second(2026, -i * 7_200))],
    ['two lines, the last one first', [second(2026, 9_000), second(2026, 0)]],
    ['one line', [second(2026, 0)]],
    ['two lines, years apart', [second(2019, 0), second(2026, 0)]],
  ])('is right if the lines after it agree: %s', (_name, lines) => {
    const { visited, counts } = readAll([{ lines }]);
    const bySecond = (line: string) => Number(line.split(' ')[0]);
    expect(visited).toEqual(lines.toSorted((a, b) => bySecond(a) - bySecond(b)));
    expect(counts).toMatchObject({ misread: 0, late: 0 });
  });

  test('may be as far as --horizon says', () => {
    const lines = log(100, { 50: inHours(5) });
    expect(readAll([{ lines }], 6 * 3_600_000).counts).toMatchObject({ misread: 0, late: 0 });
  });
});

test('equal starts keep the order of sources, then of lines', () => {
  const { visited } = readAll([
    { source: 1, lines: ['1 c', '1 d'] },
    { source: 0, lines: ['2 e', '1 a', '1 b'] },
  ]);
  expect(visited).toEqual(['1 a', '1 b', '1 c', '1 d', '2 e']);
});

test('lines are counted by what they are, and blank ones not at all', () => {
  const { counts } = readAll([
    { lines: ['1', '', '  ', 'none', 'x y', '2'] },
    { lines: ['', 'z'] },
  ]);
  expect(counts).toMatchObject({ read: 5, understood: 2, withoutRequest: 1, misread: 2 });
  expect(counts.firstMisread).toEqual([
    { source: 0, line: 5, text: 'x y', field: 'second' },
    { source: 0, line: 8, text: 'z', field: 'second' },
  ]);
});

test('ten misread lines are kept, and all are reported', () => {
  const seen: number[] = [];
  const stream = new EntryStream(parse, {
    sources: 1,
    horizonMs: 0,
    keep: (entry) => entry,
    onMisread: ({ line }) => seen.push(line),
  });
  stream.add({ source: 0, bytes: Buffer.from('x\n'.repeat(15)), isLast: true }, () => {});
  expect(stream.counts.firstMisread).toHaveLength(10);
  expect(seen).toHaveLength(15);
});

describe('any log', () => {
  const log = fc.array(fc.nat(3_000), { minLength: 1, maxLength: 300 });
  const cut = (lines: readonly string[], sizes: readonly number[]) => {
    const chunks: string[][] = [];
    let from = 0;
    for (let i = 0; from < lines.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      chunks.push(lines.slice(from, from + size));
      from += size;
    }
    return chunks;
  };
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

  test('that is shuffled within the horizon gives what the sorted one gives', () => {
    fc.assert(
      fc.property(
        log,
        sizes,
        fc.infiniteStream(fc.integer({ min: 0, max: 59 })),
        (seconds, lengths, delays) => {
          // Each entry is written less than a minute after its start, as if it had taken that long.
          const sorted = seconds
            .toSorted((a, b) => a - b)
            .map((second, i) => ({ second, i, delay: delays.next().value ?? 0 }));
          const written = sorted.toSorted(
            (a, b) => a.second + a.delay - b.second - b.delay || a.i - b.i,
          );
          const lines = (entries: typeof sorted) =>
            entries.map(({ second, i }) => `${second} ${i}`);
          const { visited, counts } = readAll(
            cut(lines(written), lengths).map((each) => ({ lines: each })),
          );
          expect(counts.late).toBe(0);
          const bySecond = (text: string) => Number(text.split(' ')[0]);
          expect(visited.map(bySecond)).toEqual(sorted.map(({ second }) => second));
          expect(visited.toSorted()).toEqual(lines(sorted).toSorted());
        },
      ),
    );
  });
  test('in several sources is visited in order, each entry once or counted as late', () => {
    fc.assert(
      fc.property(fc.array(log, { minLength: 1, maxLength: 5 }), sizes, (logs, lengths) => {
        const chunks = logs.flatMap((seconds, source) =>
          cut(
            seconds.map((second, i) => `${second} ${source}-${i}`),
            lengths,
          ).map((lines, i, all) => ({ source, lines, isLast: i === all.length - 1 })),
        );
        const { visited, counts } = readAll(chunks);
        const starts = visited.map((text) => Number(text.split(' ')[0]));
        expect(starts).toEqual(starts.toSorted((a, b) => a - b));
        expect(new Set(visited).size).toBe(visited.length);
        expect(visited.length + counts.late).toBe(logs.flat().length);
      }),
    );
  });
});

describe('wrapped lines:', () => {
  test.each([
    ['CRI', ['2026-01-05T10:20:30.123456789Z stdout F 7 a']],
    ['CRI in parts', ['2026-01-05T10:20:30.1Z stdout P 7', '2026-01-05T10:20:30.1Z stdout F  a']],
    ['docker compose', ['caddy-1  | 7 a']],
    ['docker compose, one container', ['web | 7 a']],
    [
      'the json-file of Docker',
      ['{"log":"7 a\\n","stream":"stdout","time":"2026-01-05T10:20:30Z"}'],
    ],
    [
      'the json-file in parts',
      ['{"log":"7","stream":"stdout"}', '{"log":" a\\n","stream":"stdout"}'],
    ],
    ['syslog', ['Jan  5 10:20:30 lb haproxy[12]: 7 a']],
    ['syslog with a priority', ['<134>Jan  5 10:20:30 haproxy[12]: 7 a']],
    ['syslog with a stamp of RFC 3339', ['2026-01-05T10:20:30.123+00:00 lb nginx: 7 a']],
    ['CR LF', ['7 a\r']],
  ])('%s', (_name, lines) => {
    const { visited, counts } = readAll([{ lines }]);
    expect(visited).toEqual(['7 a']);
    expect(counts).toMatchObject({ read: 1, understood: 1, misread: 0 });
  });
});
