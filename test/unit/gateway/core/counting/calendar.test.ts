import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  CALENDAR_UNITS,
  Calendar,
  type CalendarUnit,
} from '../../../../../src/gateway/core/counting/calendar.ts';
import { LONG_PERIOD_MS, periodStart } from '../../../../../src/gateway/core/identity/salts.ts';

const HOUR_MS = 3_600_000;
const ZONES = [...Intl.supportedValuesOf('timeZone'), 'UTC', 'Antarctica/Troll'];

afterEach(() => vi.restoreAllMocks());

function windowAt(unit: CalendarUnit, zone: string, moment: string) {
  const { startMs, endMs } = new Calendar(unit, zone).windowAt(Date.parse(moment));
  const text = (ms: number) => new Date(ms).toISOString().replace(':00.000Z', 'Z');
  return [text(startMs), text(endMs), (endMs - startMs) / HOUR_MS];
}

describe('a window by the calendar', () => {
  test.each<[string, CalendarUnit, string, string, string, string, number]>([
    // what, unit, zone, a moment in the window, its start, its end, its hours
    ['a day', 'day', 'UTC', '2026-11-23T12:00Z', '2026-11-23T00:00Z', '2026-11-24T00:00Z', 24],
    [
      'a day in winter',
      'day',
      'Europe/Zurich',
      '2026-11-22T23:00Z',
      '2026-11-22T23:00Z',
      '2026-11-23T23:00Z',
      24,
    ],
    [
      'a day in summer',
      'day',
      'Europe/Zurich',
      '2026-07-01T21:59Z',
      '2026-06-30T22:00Z',
      '2026-07-01T22:00Z',
      24,
    ],
    [
      'a day on which clocks go forward',
      'day',
      'Europe/Zurich',
      '2026-03-29T12:00Z',
      '2026-03-28T23:00Z',
      '2026-03-29T22:00Z',
      23,
    ],
    [
      'a day on which clocks go back',
      'day',
      'Europe/Zurich',
      '2026-10-25T00:30Z',
      '2026-10-24T22:00Z',
      '2026-10-25T23:00Z',
      25,
    ],
    [
      'the hour that clocks show twice',
      'day',
      'Europe/Zurich',
      '2026-10-25T01:30Z',
      '2026-10-24T22:00Z',
      '2026-10-25T23:00Z',
      25,
    ],
    [
      'a day of the southern summer',
      'day',
      'America/Santiago',
      '2026-01-15T12:00Z',
      '2026-01-15T03:00Z',
      '2026-01-16T03:00Z',
      24,
    ],
    [
      'a zone of half an hour',
      'day',
      'Asia/Kolkata',
      '2026-11-23T18:30Z',
      '2026-11-23T18:30Z',
      '2026-11-24T18:30Z',
      24,
    ],
    [
      'a zone of a quarter of an hour',
      'day',
      'Asia/Kathmandu',
      '2026-11-23T18:14Z',
      '2026-11-22T18:15Z',
      '2026-11-23T18:15Z',
      24,
    ],
    [
      'clocks that go back by half an hour',
      'day',
      'Australia/Lord_Howe',
      '2026-04-05T00:00Z',
      '2026-04-04T13:00Z',
      '2026-04-05T13:30Z',
      24.5,
    ],
    [
      'clocks that go back by two hours',
      'day',
      'Antarctica/Troll',
      '2026-10-25T12:00Z',
      '2026-10-24T22:00Z',
      '2026-10-26T00:00Z',
      26,
    ],
    [
      'a midnight that does not exist',
      'day',
      'America/Sao_Paulo',
      '2018-11-04T12:00Z',
      '2018-11-04T03:00Z',
      '2018-11-05T02:00Z',
      23,
    ],
    [
      'the day before it',
      'day',
      'America/Sao_Paulo',
      '2018-11-04T02:59Z',
      '2018-11-03T03:00Z',
      '2018-11-04T03:00Z',
      24,
    ],
    [
      'another such midnight',
      'day',
      'Asia/Beirut',
      '2026-03-28T22:00Z',
      '2026-03-28T22:00Z',
      '2026-03-29T21:00Z',
      23,
    ],
    [
      'a midnight at which clocks go back to the day before',
      'day',
      'America/Sao_Paulo',
      '2018-02-18T02:30Z',
      '2018-02-17T02:00Z',
      '2018-02-18T03:00Z',
      25,
    ],
    // At a minute past midnight, clocks went back to 23:01. The new day had begun already.
    [
      'a midnight that clocks show twice',
      'day',
      'America/St_Johns',
      '2010-11-07T02:45Z',
      '2010-11-07T02:30Z',
      '2010-11-08T03:30Z',
      25,
    ],
    [
      'a day that does not exist',
      'day',
      'Pacific/Apia',
      '2011-12-30T09:59Z',
      '2011-12-29T10:00Z',
      '2011-12-30T10:00Z',
      24,
    ],
    [
      'the day after it',
      'day',
      'Pacific/Apia',
      '2011-12-30T10:00Z',
      '2011-12-30T10:00Z',
      '2011-12-31T10:00Z',
      24,
    ],
    [
      'a week from Monday',
      'week',
      'UTC',
      '2026-11-23T00:00Z',
      '2026-11-23T00:00Z',
      '2026-11-30T00:00Z',
      168,
    ],
    [
      'a week until Sunday',
      'week',
      'UTC',
      '2026-11-22T23:59Z',
      '2026-11-16T00:00Z',
      '2026-11-23T00:00Z',
      168,
    ],
    [
      'a week over the end of a year',
      'week',
      'Europe/Zurich',
      '2027-01-01T12:00Z',
      '2026-12-27T23:00Z',
      '2027-01-03T23:00Z',
      168,
    ],
    [
      'a week in which clocks go back',
      'week',
      'Europe/Zurich',
      '2026-10-21T12:00Z',
      '2026-10-18T22:00Z',
      '2026-10-25T23:00Z',
      169,
    ],
    [
      'February',
      'month',
      'UTC',
      '2026-02-28T23:59Z',
      '2026-02-01T00:00Z',
      '2026-03-01T00:00Z',
      28 * 24,
    ],
    [
      'February of a leap year',
      'month',
      'UTC',
      '2028-02-29T23:59Z',
      '2028-02-01T00:00Z',
      '2028-03-01T00:00Z',
      29 * 24,
    ],
    [
      'February of 2000',
      'month',
      'UTC',
      '2000-02-29T12:00Z',
      '2000-02-01T00:00Z',
      '2000-03-01T00:00Z',
      29 * 24,
    ],
    [
      'February of 2100',
      'month',
      'UTC',
      '2100-02-28T12:00Z',
      '2100-02-01T00:00Z',
      '2100-03-01T00:00Z',
      28 * 24,
    ],
    [
      'a month in which clocks go forward',
      'month',
      'Europe/Zurich',
      '2026-03-15T12:00Z',
      '2026-02-28T23:00Z',
      '2026-03-31T22:00Z',
      31 * 24 - 1,
    ],
    [
      'a month in which clocks go back',
      'month',
      'Europe/Zurich',
      '2026-10-15T12:00Z',
      '2026-09-30T22:00Z',
      '2026-10-31T23:00Z',
      31 * 24 + 1,
    ],
    [
      'December',
      'month',
      'Pacific/Auckland',
      '2026-12-31T10:59Z',
      '2026-11-30T11:00Z',
      '2026-12-31T11:00Z',
      31 * 24,
    ],
    [
      'a year',
      'year',
      'UTC',
      '2026-12-31T23:59Z',
      '2026-01-01T00:00Z',
      '2027-01-01T00:00Z',
      365 * 24,
    ],
    [
      'a leap year',
      'year',
      'Europe/Zurich',
      '2028-02-29T12:00Z',
      '2027-12-31T23:00Z',
      '2028-12-31T23:00Z',
      366 * 24,
    ],
    [
      'a year west of Greenwich',
      'year',
      'America/Los_Angeles',
      '2027-01-01T07:59Z',
      '2026-01-01T08:00Z',
      '2027-01-01T08:00Z',
      365 * 24,
    ],
  ])('%s: %s in %s', (_, unit, zone, moment, start, end, hours) => {
    expect(windowAt(unit, zone, moment)).toEqual([start, end, hours]);
  });

  test('is not known of a zone that Intl does not know', () => {
    expect(() => new Calendar('day', 'Europe/Zuerich')).toThrow(RangeError);
  });

  test('has neighbours without gaps between them', () => {
    const calendar = new Calendar('month', 'Europe/Zurich');
    const { startMs, endMs, bounds } = calendar.windowAt(Date.parse('2026-11-23T12:00Z'));
    const times = [
      '2026-09-30T22:00Z',
      '2026-10-31T23:00Z',
      '2026-11-30T23:00Z',
      '2026-12-31T23:00Z',
    ];
    expect(bounds).toEqual(times.map(Date.parse));
    expect([startMs, endMs]).toEqual(bounds.slice(1, 3));
  });

  test('costs no call of Intl until it ends', () => {
    const formatted = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
    const calendar = new Calendar('day', 'Europe/Zurich');
    const { startMs, endMs } = calendar.windowAt(Date.parse('2026-10-25T12:00Z'));
    const calls = formatted.mock.calls.length;
    expect(calls).toBeGreaterThan(0);
    for (let ms = startMs; ms < endMs; ms += HOUR_MS / 4) calendar.windowAt(ms);
    expect(calendar.windowAt(endMs - 1)).toBe(calendar.windowAt(startMs));
    expect(formatted.mock.calls).toHaveLength(calls);
    calendar.windowAt(endMs);
    expect(formatted.mock.calls.length).toBeGreaterThan(calls);
  });
});

const moment = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2060, 0, 1) });

/** The name of the window that contains a date: names of later windows are greater. */
function nameOf(unit: CalendarUnit, date: string): string {
  if (unit === 'month') return date.slice(0, 7);
  if (unit === 'year') return date.slice(0, 4);
  const days = Math.floor(Date.parse(date) / (24 * HOUR_MS));
  // The first of January 1970 was a Thursday.
  return unit === 'day' ? date : String(Math.floor((days + 3) / 7)).padStart(6, '0');
}

test('in every zone, a window begins with the first moment of its first date', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CALENDAR_UNITS),
      fc.constantFrom(...ZONES),
      moment,
      (unit, zone, ms) => {
        const clock = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
        const nameAt = (at: number) => nameOf(unit, clock.format(at));
        const calendar = new Calendar(unit, zone);
        const { startMs, endMs, bounds } = calendar.windowAt(ms);
        expect(startMs).toBeLessThanOrEqual(ms);
        expect(endMs).toBeGreaterThan(ms);
        expect(nameAt(startMs - 1) < nameAt(startMs)).toBe(true);
        expect(nameAt(endMs - 1) < nameAt(endMs)).toBe(true);
        expect(nameAt(startMs)).toBe(nameAt((startMs + endMs) / 2));
        expect(endMs - startMs).toBeLessThanOrEqual(calendar.longestMs);
        expect(new Calendar(unit, zone).windowAt(endMs).startMs).toBe(endMs);
        expect(new Calendar(unit, zone).windowAt(startMs - 1).endMs).toBe(startMs);
        expect(bounds.toSorted((a, b) => a - b)).toEqual(bounds);
      },
    ),
    { numRuns: 2_000 },
  );
});

/** So no window contains requests under three pseudonyms, and counting under two of them loses none. */
test('in every zone, at most one salt for long windows begins within a month', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), moment, (zone, ms) => {
      const saltMs = periodStart(ms, LONG_PERIOD_MS);
      const { startMs, endMs } = new Calendar('month', zone).windowAt(saltMs);
      expect(startMs === saltMs || endMs <= saltMs + LONG_PERIOD_MS).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
