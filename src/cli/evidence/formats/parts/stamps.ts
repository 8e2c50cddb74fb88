/** Reads the time stamps of logs. */
import { LocalTime } from './local-time.ts';
import type { Cell } from './values.ts';

/** Milliseconds since the epoch, or NaN if the cell is no such stamp. */
type ReadStamp = (cell: Cell) => number;

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';
const SLASH = 47;
const DASH = 45;

const EARLIEST_MS = Date.UTC(1990, 0);
const LATEST_MS = Date.UTC(2100, 0);

/** No log is as old or as young as others: then the stamp is wrong, or means something else. */
function inOurTimes(ms: number): number {
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : Number.NaN;
}

/** The readers, by the name of the variable that they read. Those that stand first are preferred. */
export function stampReaders(zone: string): Readonly<Record<string, ReadStamp>> {
  const local = new LocalTime(zone);
  const iso = remembering((text) => isoStamp(text, local));
  const common = remembering((text) => commonStamp(text, local));
  const any: ReadStamp = (cell) => {
    if (typeof cell === 'number') return epochStamp(cell);
    if (cell === undefined) return Number.NaN;
    if (cell.charCodeAt(2) === SLASH) return common(cell);
    return cell.charCodeAt(4) === DASH ? iso(cell) : epochStamp(Number(cell));
  };
  const msec: ReadStamp = (cell) => epochStamp(Number(cell));
  return { msec, time_iso8601: iso, time_local: common, time_any: any };
}

/** Lines that follow each other often have the same stamp. */
function remembering(read: (text: string) => number): ReadStamp {
  let last: Cell;
  let lastMs = Number.NaN;
  return (cell) => {
    if (cell === last) return lastMs;
    if (typeof cell !== 'string') return Number.NaN;
    last = cell;
    lastMs = inOurTimes(read(cell));
    return lastMs;
  };
}

/** `05/Jan/2026:10:20:30 +0000`, or `05/Jan/2026:10:20:30.123` in the local time. */
const COMMON =
  /^(0[1-9]|[12]\d|3[01])\/(\w{3})\/(\d{4}):([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+)$| (.+)$|$)/;
/** `2026-01-05T10:20:30.123456Z`, with any fraction, `Z` or `+01:00`; without a zone it is local time. */
const ISO =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:[.,](\d+))?(.*)$/;
const OFFSET = /^([+-])(\d\d)(?::?(\d\d))?$/;

function commonStamp(text: string, local: LocalTime): number {
  const [, day, name = '-', year, hours, minutes, seconds, fraction, zone] =
    COMMON.exec(text) ?? [];
  const month = MONTHS.indexOf(name) / 3;
  if (!Number.isInteger(month)) return Number.NaN;
  const ms = Date.UTC(Number(year), month, Number(day), Number(hours), Number(minutes));
  return momentOf(ms, { seconds, fraction, zone }, local);
}

function isoStamp(text: string, local: LocalTime): number {
  const [, year, month, day, hours, minutes, seconds, fraction, zone] = ISO.exec(text) ?? [];
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hours), Number(minutes));
  return momentOf(ms, { seconds, fraction, zone }, local);
}

interface Rest {
  readonly seconds: string | undefined;
  readonly fraction: string | undefined;
  readonly zone: string | undefined;
}

/** `minuteMs` is the minute on a clock of the zone. */
function momentOf(minuteMs: number, { seconds, fraction = '', zone }: Rest, local: LocalTime) {
  // Nanoseconds would be lost in the sum anyway.
  const micros = Number(fraction.slice(0, 6).padEnd(6, '0'));
  const ms = minuteMs + Number(seconds) * 1000 + micros / 1000;
  return zone ? ms - offsetMs(zone) : local.at(ms);
}

/** `Z`, `+01:00`, `+0100` or `+01` */
function offsetMs(zone: string): number {
  if (zone === 'Z') return 0;
  const [, sign, hours, minutes = 0] = OFFSET.exec(zone) ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === '-' ? -offset : offset;
}

/** Seconds, milliseconds, microseconds or nanoseconds since the epoch, whichever is in our times. */
function epochStamp(value: number): number {
  if (!(value > 0)) return Number.NaN;
  // Seconds have at most microseconds; without rounding, 1767608430.123 would not be a whole millisecond.
  if (value < 1e11) return inOurTimes(Math.round(value * 1e6) / 1e3);
  if (value < 1e14) return inOurTimes(value);
  return inOurTimes(value < 1e17 ? value / 1e3 : value / 1e6);
}
