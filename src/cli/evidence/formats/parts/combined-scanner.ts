/**
 * Reads the plain lines of `combined` at twice the speed of a layout. Such logs are the largest. Every other line, and
 * every doubt, is left to the layouts, which would give the same entry.
 */
import type { LogEntry } from '../log-format.ts';
import { COMMON_METHODS } from './request.ts';
import { stampReaders } from './stamps.ts';
import type { FastParse } from './text-format.ts';
import { addressOf, textOf } from './values.ts';

const NO_FIELDS: readonly undefined[] = [];
const STAMP_LENGTH = 26;
const PROTOCOL_LENGTH = 9;
const SLASH = 47;
const SPACE = 32;
const DASH = 45;
const ZERO = 48;

export function combinedScanner(zone: string): FastParse {
  const readStamp = stampReaders(zone).time_local;
  let lastStamp = '';
  let lastMs = Number.NaN;

  const startAt = (line: string, at: number): number => {
    if (lastStamp !== '' && line.startsWith(lastStamp, at)) return lastMs;
    lastStamp = line.slice(at, at + STAMP_LENGTH);
    lastMs = readStamp?.(lastStamp) ?? Number.NaN;
    return lastMs;
  };

  return (line) => {
    const addressEnd = line.indexOf(' ');
    if (addressEnd <= 0 || !line.startsWith(' - ', addressEnd) || line.includes('\\'))
      return undefined;
    const address = line.slice(0, addressEnd);
    // A comma joins a list of addresses.
    if (address.includes(',')) return undefined;
    const stampAt = line.indexOf(' [', addressEnd + 3) + 2;
    const requestAt = stampAt + STAMP_LENGTH + 3;
    if (stampAt < 2 || !line.startsWith('] "', requestAt - 3)) return undefined;
    const startMs = startAt(line, stampAt);
    const methodEnd = line.indexOf(' ', requestAt);
    const requestEnd = line.indexOf('"', requestAt);
    const targetEnd = requestEnd - PROTOCOL_LENGTH;
    if (methodEnd < 0 || methodEnd >= targetEnd || !line.startsWith(' HTTP/', targetEnd)) {
      return undefined;
    }
    if (line.lastIndexOf(' ', requestEnd) !== targetEnd) return undefined;
    const method = line.slice(requestAt, methodEnd);
    const status = statusAt(line, requestEnd + 1);
    const agentAt = agentStart(line, requestEnd + 6);
    const agentEnd = line.length - 1;
    if (Number.isNaN(startMs) || Number.isNaN(status) || agentAt < 0) return undefined;
    if (line.charCodeAt(methodEnd + 1) !== SLASH || !COMMON_METHODS.has(method)) return undefined;
    if (agentAt > agentEnd || line.indexOf('"', agentAt) !== agentEnd) return undefined;
    return {
      startMs,
      method,
      target: line.slice(methodEnd + 1, targetEnd),
      host: undefined,
      address: addressOf(textOf(address)),
      forwardedFor: undefined,
      status,
      userAgent: textOf(line.slice(agentAt, agentEnd)),
      fields: NO_FIELDS,
    } satisfies LogEntry;
  };
}

/** ` 200 ` at a place, or NaN. */
function statusAt(line: string, at: number): number {
  let status = 0;
  for (let i = at + 1; i < at + 4; i++) {
    const digit = line.charCodeAt(i) - ZERO;
    status = isDigit(digit) ? status * 10 + digit : Number.NaN;
  }
  const areSpaces = line.charCodeAt(at) === SPACE && line.charCodeAt(at + 4) === SPACE;
  return areSpaces && status >= 100 ? status : Number.NaN;
}

/** Where the agent begins, after `512 "referer" "`; or -1. */
function agentStart(line: string, bytesAt: number): number {
  let at = bytesAt;
  while (isDigit(line.charCodeAt(at) - ZERO) || line.charCodeAt(at) === DASH) at++;
  if (at === bytesAt || !line.startsWith(' "', at)) return -1;
  const end = line.indexOf('"', at + 2);
  return end >= 0 && line.startsWith(' "', end + 1) ? end + 3 : -1;
}

function isDigit(value: number): boolean {
  return value >= 0 && value <= 9;
}
