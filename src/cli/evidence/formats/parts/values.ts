/** Values as logs write them. */
import type { Escape } from './layout.ts';

export type Cell = string | number | undefined;

/** The text of a cell. Undefined if it is empty, or `-`, which logs write for an absent value. */
export function textOf(cell: Cell): string | undefined {
  if (cell === undefined || cell === '' || cell === '-') return undefined;
  return typeof cell === 'string' ? cell : String(cell);
}

/** Without a port: of `192.0.2.1:80`, `[2001:db8::1]:80` and what has none. Undefined if there is no address. */
export function addressOf(text: string | undefined): string | undefined {
  if (text === undefined || text.startsWith('unix')) return undefined;
  if (text.charCodeAt(0) === 91) {
    const end = text.indexOf(']');
    return end < 0 ? undefined : text.slice(1, end);
  }
  const colon = text.indexOf(':');
  return colon < 0 || text.indexOf(':', colon + 1) >= 0 ? text : text.slice(0, colon);
}

export function addressBeforePort(text: string | undefined): string | undefined {
  const colon = text?.lastIndexOf(':') ?? -1;
  if (text === undefined || colon <= 0) return undefined;
  const address = text.slice(0, colon);
  if (address.startsWith('[') && address.endsWith(']')) return address.slice(1, -1);
  return address.startsWith('unix') ? undefined : address;
}

export function lastOf(list: string): { last: string; before: string | undefined } {
  const comma = list.lastIndexOf(',');
  if (comma < 0) return { last: list.trim(), before: undefined };
  return { last: list.slice(comma + 1).trim(), before: list.slice(0, comma).trim() || undefined };
}

const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  ns: 1e-6,
};
const PART = /(\d+(?:\.\d+)?)(h|ms|m|s|us|ns|\xb5s|\xc2\xb5s)/g;

/** Milliseconds: of a number of seconds, or of a text such as `0.012` or `1m1.5s`. NaN if it is neither. */
export function durationMs(cell: Cell): number {
  if (typeof cell === 'number') return cell * 1000;
  if (cell === undefined || cell === '') return Number.NaN;
  const seconds = Number(cell);
  if (!Number.isNaN(seconds)) return seconds * 1000;
  let ms = Number.NaN;
  for (const [, amount, unit = ''] of cell.matchAll(PART)) {
    ms = (Number.isNaN(ms) ? 0 : ms) + Number(amount) * (UNIT_MS[unit] ?? 1e-3);
  }
  return ms;
}

const BACKSLASHED = /\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|([^xu]))/g;
const HASHED = /#([0-9A-Fa-f]{2})/g;
const LETTERS: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
};

export function unescaped(text: string, escapes: Escape): string {
  if (escapes === 'backslash' && text.includes('\\')) {
    return text.replace(BACKSLASHED, (found) => {
      if (found.length > 2) return charOf(found.slice(-2));
      const letter = found.charAt(1);
      return LETTERS[letter] ?? letter;
    });
  }
  if (escapes === 'hash' && text.includes('#')) {
    return text.replace(HASHED, (found) => charOf(found.slice(1)));
  }
  return text;
}

function charOf(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}

export function fieldName(name: string): string {
  return name.replace(/^\$/, '');
}
