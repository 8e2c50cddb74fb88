/** Parses single lines and strings of RESP2 and RESP3. Throws a SyntaxError or a RangeError for anything else. */
import { ReplyError } from 'ioredis';

export const MAX_LINE_BYTES = 16_384;

const CR = 13;
const LF = 10;
const PLUS = 43;
const MINUS = 45;
const ZERO = 48;
/** `txt:` */
const VERBATIM_FORMAT_BYTES = 4;

/** The index of the line's CR, or -1 if the line continues in the next chunk. */
export function lineEnd(chunk: Buffer, at: number): number {
  const last = Math.min(chunk.length, at + MAX_LINE_BYTES);
  for (let i = at; i < last; i++) {
    if (chunk[i] !== CR) continue;
    if (i + 1 === chunk.length) return -1;
    expectLineEnd(chunk, i);
    return i;
  }
  if (last < chunk.length) throw tooMuch(`a line of more than ${MAX_LINE_BYTES} bytes`);
  return -1;
}

export function expectLineEnd(chunk: Buffer, at: number): void {
  if (chunk[at] !== CR || chunk[at + 1] !== LF) throw unreadable('a line without its end');
}

const STAR = 42;
const COLON = 58;
/** Every number of so many digits is a safe integer. */
const MOST_DIGITS = 15;
const MOST_INTEGERS = 10_000;

/**
 * The fast way for what scripts reply: a list of integers that has arrived as a whole. Undefined for anything else, which
 * is then read line by line.
 */
export function integersAt(
  chunk: Buffer,
  start: number,
): { readonly integers: number[]; readonly next: number } | undefined {
  if (chunk[start] !== STAR) return undefined;
  let at = start + 1;
  let number = 0;
  /** Moves behind the digits and the line end after them. */
  const readDigits = (): boolean => {
    const first = at;
    number = 0;
    for (let digit = (chunk[at] as number) - ZERO; digit >= 0 && digit <= 9; ) {
      number = 10 * number + digit;
      digit = (chunk[++at] as number) - ZERO;
    }
    if (at === first || at - first > MOST_DIGITS) return false;
    at += 2;
    return chunk[at - 2] === CR && chunk[at - 1] === LF;
  };
  if (!readDigits() || number === 0 || number > MOST_INTEGERS) return undefined;
  const integers: number[] = [];
  for (let missing = number; missing > 0; missing--) {
    if (chunk[at++] !== COLON) return undefined;
    const isNegative = chunk[at] === MINUS;
    if (isNegative) at++;
    if (!readDigits()) return undefined;
    integers.push(isNegative ? -number : number);
  }
  return { integers, next: at };
}

export function parseInteger(chunk: Buffer, at: number, end: number): number {
  const sign = chunk[at];
  if (sign === MINUS) return -parseDigits(chunk, at + 1, end);
  return parseDigits(chunk, sign === PLUS ? at + 1 : at, end);
}

/** The length of a string or a list; -1 for null. */
export function parseLength(chunk: Buffer, at: number, end: number): number {
  if (chunk[at] !== MINUS) return parseDigits(chunk, at, end);
  if (parseDigits(chunk, at + 1, end) !== 1) throw unreadable('a negative length');
  return -1;
}

function parseDigits(chunk: Buffer, at: number, end: number): number {
  if (at === end) throw unreadable('a number without digits');
  let number = 0;
  for (let i = at; i < end; i++) {
    const digit = (chunk[i] as number) - ZERO;
    if (digit < 0 || digit > 9) throw unreadable('a number with other characters in it');
    number = 10 * number + digit;
  }
  return number;
}

/** The value of a line that is complete in itself. `type` is its first character. */
export function parseSimple(type: string, line: Buffer): unknown {
  switch (type) {
    case '+':
    case ',':
      return line;
    case '-':
      return new ReplyError(line.toString());
    case '(':
      return line.toString();
    case '_':
      if (line.length === 0) return null;
      break;
    case '#':
      if (line.length === 1 && line[0] === 116) return 1;
      if (line.length === 1 && line[0] === 102) return 0;
  }
  throw unreadable('something that is not RESP');
}

export function parseBlob(type: string, bytes: Buffer): unknown {
  if (type === '$') return bytes;
  if (type === '!') return new ReplyError(bytes.toString());
  if (bytes.length < VERBATIM_FORMAT_BYTES) throw unreadable('a text without its format');
  return bytes.subarray(VERBATIM_FORMAT_BYTES);
}

export function unreadable(what: string): SyntaxError {
  return new SyntaxError(`Redis sent ${what}`);
}

export function tooMuch(what: string): RangeError {
  return new RangeError(`Redis sent a reply with ${what}`);
}
