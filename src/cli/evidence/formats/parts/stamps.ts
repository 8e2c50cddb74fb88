/** Reads the time stamps of logs. */

import { LocalTime } from './local-time.ts';
import type { Cell } from './values.ts';

/** Milliseconds since the epoch, or NaN if the cell is no such stamp. */
export type ReadStamp = (cell: Cell) => number;

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';
const MINUTE_MS = 60_000;

/** The readers, by the name of the variable that they read. Those that stand first are preferred. */
export function stampReaders(zone: string): Readonly<Record<string, ReadStamp>> {
  const local = new LocalTime(zone);
  const iso = remembering((text) => isoStamp(text, local));
  const common = remembering((text) => commonStamp(text, local));
  const any: ReadStamp = (cell) => {
    if (typeof cell === 'number') return epochStamp(cell);
    if (cell === undefined) return Number.NaN;
    if (cell.charCodeAt(2) === SLASH) return common(cell);
    return cell.charCodeAt(4) === DASH ? iso(cell) : epochStamp(Number(cell || Number.NaN));
  };
  return {
    msec: (cell) => epochStamp(typeof cell === 'number' ? cell : Number(cell || Number.NaN)),
    time_iso8601: iso,
    time_local: common,
    time_any: any,
  };
}

/** Lines that follow each other often have the same stamp. */
function remembering(read: (text: string) => number): ReadStamp {
  let last: Cell;
  let lastMs = Number.NaN;
  return (cell) => {
    if (cell === last) return lastMs;
    if (typeof cell !== 'string') return Number.NaN;
    last = cell;
    lastMs = read(cell);
    return lastMs;
  };
}

const SLASH = 47;
const DASH = 45;
const PLUS = 43;
const COLON = 58;
const DOT = 46;
const COMMA = 44;

/** `05/Jan/2026:10:20:30 +0000`, or `05/Jan/2026:10:20:30.123` in the local time. */
function commonStamp(text: string, local: LocalTime): number {
  const month = MONTHS.indexOf(text.slice(3, 6));
  if (month < 0 || month % 3 !== 0 || text.charCodeAt(2) !== SLASH) return Number.NaN;
  if (text.charCodeAt(6) !== SLASH || text.charCodeAt(11) !== COLON) return Number.NaN;
  const dayMs = Date.UTC(digits(text, 7, 11), month / 3, dayOf(digits(text, 0, 2)));
  const seconds = clockMs(text, 12);
  if (text.length === 20) return local.at(dayMs + seconds);
  if (text.charCodeAt(20) === DOT)
    return local.at(dayMs + seconds + fractionMs(text, 21, text.length));
  if (text.charCodeAt(20) !== 32) return Number.NaN;
  return dayMs + seconds - offsetMs(text, 21);
}

/** `2026-01-05T10:20:30.123456Z`, with any fraction, `Z` or `+01:00`; without a zone it is local time. */
function isoStamp(text: string, local: LocalTime): number {
  const between = text.charCodeAt(10);
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH) return Number.NaN;
  if (between !== 84 && between !== 32) return Number.NaN;
  const month = digits(text, 5, 7);
  if (!(month >= 1 && month <= 12)) return Number.NaN;
  const dayMs = Date.UTC(digits(text, 0, 4), month - 1, dayOf(digits(text, 8, 10)));
  let end = 19;
  let ms = dayMs + clockMs(text, 11);
  const point = text.charCodeAt(19);
  if (point === DOT || point === COMMA) {
    end = 20;
    while (isDigit(text.charCodeAt(end))) end++;
    ms += fractionMs(text, 20, end);
  }
  if (end === text.length) return local.at(ms);
  return ms - offsetMs(text, end);
}

/** Seconds, milliseconds, microseconds or nanoseconds since the epoch, whichever is in our times. */
function epochStamp(value: number): number {
  if (!(value > 0)) return Number.NaN;
  // Seconds have at most microseconds; without rounding, 1767608430.123 would not be a whole millisecond.
  if (value < 1e11) return Math.round(value * 1e6) / 1e3;
  if (value < 1e14) return value;
  return value < 1e17 ? value / 1e3 : value / 1e6;
}

function clockMs(text: string, at: number): number {
  const hours = digits(text, at, at + 2);
  const minutes = digits(text, at + 3, at + 5);
  const seconds = digits(text, at + 6, at + 8);
  if (text.charCodeAt(at + 2) !== COLON || text.charCodeAt(at + 5) !== COLON) return Number.NaN;
  if (!(hours < 24 && minutes < 60 && seconds <= 60)) return Number.NaN;
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** `Z`, `+01:00`, `+0100` or `+01`, to the end of the text. */
function offsetMs(text: string, at: number): number {
  const sign = text.charCodeAt(at);
  if (sign === 90 && text.length === at + 1) return 0;
  if (sign !== PLUS && sign !== DASH) return Number.NaN;
  const minutesAt = text.charCodeAt(at + 3) === COLON ? at + 4 : at + 3;
  const minutes = text.length === at + 3 ? 0 : digits(text, minutesAt, minutesAt + 2);
  if (text.length !== at + 3 && text.length !== minutesAt + 2) return Number.NaN;
  const offset = (digits(text, at + 1, at + 3) * 60 + minutes) * MINUTE_MS;
  return sign === PLUS ? offset : -offset;
}

function fractionMs(text: string, from: number, to: number): number {
  // Nanoseconds would be lost in the sum anyway.
  const end = Math.min(to, from + 6);
  return (digits(text, from, end) * 1000) / 10 ** (end - from);
}

function dayOf(day: number): number {
  return day >= 1 && day <= 31 ? day : Number.NaN;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function digits(text: string, from: number, to: number): number {
  if (to <= from) return Number.NaN;
  let value = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (!isDigit(code)) return Number.NaN;
    value = value * 10 + code - 48;
  }
  return value;
}
