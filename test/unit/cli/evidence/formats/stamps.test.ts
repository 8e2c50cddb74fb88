import { describe, expect, test } from 'vitest';
import { LocalTime } from '../../../../../src/cli/evidence/formats/parts/local-time.ts';
import { stampReaders } from '../../../../../src/cli/evidence/formats/parts/stamps.ts';

const at = (text: string) => Date.parse(text);

describe('a stamp', () => {
  const read = stampReaders('UTC').time_any ?? (() => Number.NaN);
  test.each([
    ['05/Jan/2026:10:20:30 +0000', '2026-01-05T10:20:30Z'],
    ['05/Jan/2026:10:20:30 -0530', '2026-01-05T15:50:30Z'],
    ['05/Jan/2026:10:20:30.123', '2026-01-05T10:20:30.123Z'],
    ['2026-01-05T10:20:30Z', '2026-01-05T10:20:30Z'],
    ['2026-01-05T10:20:30.5+01:00', '2026-01-05T09:20:30.500Z'],
    ['2026-01-05 10:20:30,250', '2026-01-05T10:20:30.250Z'],
    ['2026-01-05T10:20:30.123456789+0100', '2026-01-05T09:20:30.123Z'],
    ['1767608430.123', '2026-01-05T10:20:30.123Z'],
    [1767608430, '2026-01-05T10:20:30Z'],
    [1767608430123, '2026-01-05T10:20:30.123Z'],
    [1767608430123000, '2026-01-05T10:20:30.123Z'],
    ['1767608430123000000', '2026-01-05T10:20:30.123Z'],
    ['29/Feb/2028:23:59:60 +0000', '2028-03-01T00:00:00Z'],
  ])('%s', (text, expected) => {
    expect(Math.trunc(read(text))).toBe(at(expected));
    expect(Math.trunc(read(text))).toBe(at(expected));
  });
  test.each([
    '',
    '-',
    'x',
    '05/Jan/2026',
    '05/anJ/2026:10:20:30 +0000',
    '2026-13-05T10:20:30Z',
    '2026-01-05T25:20:30Z',
    '2026-01-05T10:20:30+',
    '2026-01-05T10:20:30.Z',
    '-5',
    '0',
    'Infinity',
    '00/Jan/2026:10:20:30 +0000',
  ])('"%s" is none', (text) => {
    expect(Number.isFinite(read(text))).toBe(false);
  });
});

describe('local time', () => {
  const clock = (text: string) => Date.parse(`${text}Z`);
  test('in winter and in summer', () => {
    const berlin = new LocalTime('Europe/Berlin');
    expect(berlin.at(clock('2026-01-05T10:00:00'))).toBe(at('2026-01-05T09:00:00Z'));
    expect(berlin.at(clock('2026-07-05T10:00:00.5'))).toBe(at('2026-07-05T08:00:00.500Z'));
    expect(new LocalTime('Asia/Kathmandu').at(clock('2026-01-05T10:00:00'))).toBe(
      at('2026-01-05T04:15:00Z'),
    );
  });
  test('goes on when the clock is set forward', () => {
    const berlin = new LocalTime('Europe/Berlin');
    expect(berlin.at(clock('2026-03-29T01:59:59'))).toBe(at('2026-03-29T00:59:59Z'));
    expect(berlin.at(clock('2026-03-29T03:00:00'))).toBe(at('2026-03-29T01:00:00Z'));
    expect(berlin.at(clock('2026-03-29T02:30:00'))).toBe(at('2026-03-29T01:30:00Z'));
  });
  test('goes on when the clock is set back, and shows an hour twice', () => {
    const berlin = new LocalTime('Europe/Berlin');
    const shown = Array.from({ length: 26 }, (_, i) => i * 10).map((minute) => {
      const moment = at('2026-10-25T00:00:00Z') + minute * 60_000;
      const offset = moment < at('2026-10-25T01:00:00Z') ? 2 : 1;
      return { moment, clock: moment + offset * 3_600_000 };
    });
    expect(shown.map((each) => berlin.at(each.clock))).toEqual(shown.map(({ moment }) => moment));
  });
  test('needs a zone that exists', () => {
    expect(() => new LocalTime('Europe/Berlinn')).toThrow(
      '--tz: "Europe/Berlinn" is not a time zone',
    );
  });
});
