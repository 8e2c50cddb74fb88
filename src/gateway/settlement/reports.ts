/** Reads the body of `POST /settle`: one report of an outcome, or a batch of them. */
import type { Outcome } from '../core/counting/outcome.ts';
import { isRecord } from '../core/is-record.ts';

export interface Report {
  readonly token: string;
  readonly outcome: Outcome;
}

export interface Reports {
  /** The body was `{"settlements": [...]}`, and the answer has this form, too. */
  readonly isBatch: boolean;
  readonly reports: readonly Report[];
}

export const MAX_BATCH = 100;
const MAX_HEADERS = 64;
const MAX_UNITS = 16;
const MAX_NAME_LENGTH = 128;

/** The body is not what it must be. The message names the place, and says what to send. */
export class MalformedReport extends Error {
  override readonly name = 'MalformedReport';
}

/** Throws a MalformedReport. */
export function readReports(written: string): Reports {
  const value = parsed(written);
  if (!isRecord(value)) throw new MalformedReport('the body must be a JSON object');
  const found = reportsIn(value);
  // Last, because only a body without other mistakes has few names.
  const repeated = repeatedName(written);
  if (repeated === undefined) return found;
  throw new MalformedReport(`${quoted(repeated)} stands twice in one object: send it once`);
}

function reportsIn(value: Readonly<Record<string, unknown>>): Reports {
  if (!Object.hasOwn(value, 'settlements')) {
    return { isBatch: false, reports: [reportOf(value, '')] };
  }
  const { settlements } = value;
  const other = Object.keys(value).find((name) => name !== 'settlements');
  if (other !== undefined) {
    throw new MalformedReport(`${quoted(other)}: nothing can stand beside settlements`);
  }
  const isList = Array.isArray(settlements) && settlements.length > 0;
  if (!isList || settlements.length > MAX_BATCH) {
    throw new MalformedReport(`settlements: must be a list of 1 to ${MAX_BATCH} objects`);
  }
  const reports = settlements.map((each, i) => reportOf(each, `settlements[${i}]`));
  return { isBatch: true, reports };
}

function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    throw new MalformedReport('the body is not JSON');
  }
}

/** One match for each text and each sign of JSON outside of texts. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;

/** JSON.parse keeps the last value of a name that stands twice (RFC 8259, section 4). `written` must be JSON. */
function repeatedName(written: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (const [token] of written.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token !== ':') last = token;
    else {
      const name: string = last.includes('\\') ? JSON.parse(last) : last.slice(1, -1);
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}

const NAMES = ['token', 'status', 'headers', 'units'];

/** `place`: where it stands in the body, empty for the body itself. */
function reportOf(value: unknown, place: string): Report {
  if (!isRecord(value)) throw new MalformedReport(`${place}: must be an object`);
  const { token, status, headers, units } = value;
  const at = (name: string) => (place === '' ? name : `${place}.${name}`);
  const unknown = Object.keys(value).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new MalformedReport(
      `${at(quoted(unknown))}: is unknown, the names are token, status, headers and units`,
    );
  }
  if (typeof token !== 'string' || token === '') {
    throw new MalformedReport(`${at('token')}: must be the text of X-Headgate-Settle`);
  }
  if (status !== undefined && !isWhole(status, 100, 599)) {
    throw new MalformedReport(`${at('status')}: must be a whole number from 100 to 599`);
  }
  return {
    token,
    outcome: {
      status,
      headers: mapOf(headers, at('headers'), HEADERS),
      units: mapOf(units, at('units'), UNITS),
    },
  };
}

interface MapForm<Value> {
  readonly max: number;
  readonly nameOf: (written: string) => string;
  readonly isValue: (value: unknown) => value is Value;
  readonly expected: string;
}

const HEADERS: MapForm<string> = {
  max: MAX_HEADERS,
  nameOf: (written) => written.toLowerCase(),
  isValue: (value) => typeof value === 'string',
  expected: 'must be a text',
};
const UNITS: MapForm<number> = {
  max: MAX_UNITS,
  nameOf: (written) => written,
  isValue: (value): value is number => isWhole(value, 0, Number.MAX_SAFE_INTEGER),
  expected: `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
};

function mapOf<Value>(
  value: unknown,
  place: string,
  { max, nameOf, isValue, expected }: MapForm<Value>,
): ReadonlyMap<string, Value> | undefined {
  if (value === undefined) return undefined;
  const found = new Map<string, Value>();
  const entries = isRecord(value) ? Object.entries(value) : undefined;
  if (entries === undefined || entries.length > max) {
    throw new MalformedReport(`${place}: must be an object with at most ${max} names`);
  }
  for (const [written, each] of entries) {
    const at = `${place}.${quoted(written)}`;
    if (written === '' || written.length > MAX_NAME_LENGTH) {
      throw new MalformedReport(`${at}: a name must have 1 to ${MAX_NAME_LENGTH} characters`);
    }
    if (!isValue(each)) throw new MalformedReport(`${at}: ${expected}`);
    const name = nameOf(written);
    if (found.has(name)) throw new MalformedReport(`${at}: stands twice, send it once`);
    found.set(name, each);
  }
  return found;
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** Short, so that an answer does not repeat a long body. */
function quoted(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}...` : name);
}
