import { expect, test } from 'vitest';
import { parseDuration, parseRate, parseSlidingRate } from '../../../../src/gateway/config/rate.ts';

const DAY_MS = 86_400_000;

test.each([
  ['5/5min', 5, 300_000, '5min'],
  ['100/1min', 100, 60_000, '1min'],
  ['1000/1h', 1_000, 3_600_000, '1h'],
  ['10/1s', 10, 1_000, '1s'],
  ['500/1d', 500, DAY_MS, '1d'],
  ['1/31d', 1, 31 * DAY_MS, '31d'],
  ['1000000/24h', 1_000_000, DAY_MS, '24h'],
])('reads the rate %s', (text, limit, windowMs, window) => {
  expect(parseRate(text)).toEqual({ limit, windowMs, window });
});

test.each([
  ['100/day', 100, DAY_MS, 'day'],
  ['5000/week', 5_000, 7 * DAY_MS, 'week'],
  ['10000/month', 10_000, 31 * DAY_MS, 'month'],
  ['4294967295/year', 2 ** 32 - 1, 366 * DAY_MS, 'year'],
])('reads the rate by the calendar %s', (text, limit, windowMs, calendar) => {
  expect(parseRate(text)).toEqual({ limit, windowMs, window: calendar, calendar });
});

test.each([
  ['1/32d', 'a window of 32d is too long, the maximum is 31d'],
  ['1/745h', 'a window of 745h is too long'],
  ['1/366d', 'write "1/month" or "1/year"'],
  ['4294967296/1s', 'too large, the maximum is 1000000, with fixed-window 4294967295'],
  ['4294967296/month', 'too large, the maximum is 1000000, with fixed-window 4294967295'],
])('refuses %s as too large', (text, message) => {
  expect(() => parseRate(text)).toThrow(message);
});

test.each([
  ['1000001/1s', 'a limit of 1000001 is too large, the maximum is 1000000'],
  ['10/month', 'a window of a month has no fixed length, write it in s, min, h or d'],
])('a rate that slides is not %s', (text, message) => {
  expect(() => parseSlidingRate(text)).toThrow(message);
  expect(parseSlidingRate('1000000/31d')).toEqual(parseRate('1000000/31d'));
});

test.each([
  ['5/5m', 'write "5/5min"'],
  ['5/min', 'write "5/1min"'],
  ['5 / 5 minutes', 'write "5/5min"'],
  ['5 per second', 'write "5/1s"'],
  ['10/2Hours', 'write "10/2h"'],
  ['3/2 days', 'write "3/2d"'],
  ['3/2D', 'write "3/2d"'],
  ['3/days', 'write "3/1d"'],
  ['10000/1month', 'write "10000/month"'],
  ['10 per week', 'write "10/week"'],
  ['10 / Year', 'write "10/year"'],
  ['10/monthly', 'write "10/month"'],
  ['10/2months', 'or with day, week, month or year, as in "5/5min" or "10000/month"'],
  ['month', 'write requests/window'],
  ['fast', 'write requests/window'],
  ['', 'write requests/window'],
  ['5/0s', 'write requests/window'],
  ['1e3/1h', 'write "1000/1h"'],
  ['1_000/1h', 'write "1000/1h"'],
  ['10 req/s', 'write "10/1s"'],
  ['10rps', 'write "10/1s"'],
  ['5/60', 'write "5/60s" if you mean seconds'],
  ['0/1h', 'the smallest limit is 1'],
  ['5/1h\n', 'write'],
])('refuses "%s" and says what to write', (text, remedy) => {
  expect(() => parseRate(text)).toThrow(remedy);
});

test.each([
  ['90s', 90_000],
  ['30min', 1_800_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
])('%s is %i ms', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(['', '0s', '05min', '1.5h', '-1h', '1', 'ever', '1 h', '1w', '1234567890s'])(
  'refuses "%s"',
  (text) => {
    expect(() => parseDuration(text)).toThrow(`"${text}" is not a duration: write a number`);
  },
);
