/**
 * Decodes the replies of Redis (RESP2 and RESP3) as they arrive, within bounds. A length that a reply claims reserves no
 * memory, and a reply that claims or sends more than headgate ever asks for is an error. So is every byte that is not
 * RESP. It stands in for the decoder of ioredis, whose replies have the same shapes: strings are buffers, sets and maps
 * are arrays, booleans are 1 and 0.
 */
import { ReplyError } from 'ioredis';

export interface ReplyListener {
  onReply(reply: unknown): void;
  onErrorReply(error: Error): void;
  onPush(reply: unknown): void;
}

/**
 * The largest replies that headgate asks for: the notices (a few megabytes), CLUSTER SLOTS (18 elements for a range of
 * slots with two replicas, four levels deep), SCAN (250 names of keys that other programs may have written).
 */
export const MAX_REPLY_BYTES = 16 * 1_048_576;
/** Of one reply, with everything in it. */
export const MAX_ELEMENTS = 100_000;
export const MAX_DEPTH = 8;
/** Numbers, simple strings, errors and lengths. */
export const MAX_LINE_BYTES = 16_384;

const CR = 13;
const LF = 10;
const PLUS = 43;
const MINUS = 45;
const ZERO = 48;
const FIRST_BLOB_BYTES = 65_536;
/** `txt:` */
const VERBATIM_FORMAT_BYTES = 4;

interface OpenList {
  readonly items: unknown[];
  missing: number;
}

/** A string of which a part has arrived, with the line end after it. */
interface OpenBlob {
  readonly type: string;
  readonly length: number;
  bytes: Buffer;
  filled: number;
}

export class ReplyDecoder {
  readonly #listener: ReplyListener;
  readonly #lists: OpenList[] = [];
  #blob: OpenBlob | undefined;
  /** The beginning of a line. */
  #rest: Buffer | undefined;
  #isPush = false;
  #isBroken = false;
  /** Of the reply that is being decoded. */
  #bytes = 0;
  #elements = 0;

  constructor(listener: ReplyListener) {
    this.#listener = listener;
  }

  /** Throws a RangeError or a SyntaxError; what arrives after that is dropped. */
  write(chunk: Buffer): void {
    if (this.#isBroken) return;
    try {
      this.#decode(chunk);
    } catch (error) {
      this.#isBroken = true;
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    this.#lists.length = 0;
    this.#blob = undefined;
    this.#rest = undefined;
  }

  #decode(arrived: Buffer): void {
    let chunk = arrived;
    if (this.#rest !== undefined) {
      chunk = Buffer.concat([this.#rest, arrived]);
      this.#rest = undefined;
    }
    let at = this.#blob === undefined ? 0 : this.#continueBlob(this.#blob, chunk);
    while (at < chunk.length) {
      const end = lineEnd(chunk, at);
      if (end === -1) {
        this.#rest = Buffer.from(chunk.subarray(at));
        return;
      }
      this.#count(end - at);
      at = this.#item(chunk, at, end);
    }
  }

  /** An element whose line ends at `end`. Returns where the next one begins. */
  #item(chunk: Buffer, at: number, end: number): number {
    const next = end + 2;
    const type = String.fromCharCode(chunk[at] ?? 0);
    switch (type) {
      case ':':
        this.#add(integer(chunk, at + 1, end));
        return next;
      case '*':
      case '~':
      case '>':
      case '%':
        this.#openList(type, chunk, at, end);
        return next;
      case '$':
      case '=':
      case '!':
        return this.#openBlob(type, chunk, at, end);
      default:
        this.#add(simple(type, chunk.subarray(at + 1, end)));
        return next;
    }
  }

  #openList(type: string, chunk: Buffer, at: number, end: number): void {
    const claimed = lengthAt(chunk, at + 1, end);
    const length = type === '%' ? 2 * claimed : claimed;
    if (type === '>') {
      if (this.#lists.length > 0) throw unreadable('a push inside of a reply');
      this.#isPush = true;
    }
    if (length <= 0) {
      this.#add(length === 0 ? [] : null);
      return;
    }
    this.#elements += length;
    if (this.#elements > MAX_ELEMENTS) throw tooMuch(`more than ${MAX_ELEMENTS} elements`);
    if (this.#lists.length === MAX_DEPTH) throw tooMuch(`more than ${MAX_DEPTH} levels`);
    this.#lists.push({ items: [], missing: length });
  }

  #openBlob(type: string, chunk: Buffer, at: number, end: number): number {
    const length = lengthAt(chunk, at + 1, end);
    const start = end + 2;
    if (length === -1) {
      this.#add(null);
      return start;
    }
    this.#count(length);
    if (chunk.length >= start + length + 2) {
      expectLineEnd(chunk, start + length);
      this.#add(blob(type, chunk.subarray(start, start + length)));
      return start + length + 2;
    }
    const bytes = Buffer.allocUnsafe(Math.min(length + 2, FIRST_BLOB_BYTES));
    this.#blob = { type, length, bytes, filled: 0 };
    return this.#continueBlob(this.#blob, chunk.subarray(start)) + start;
  }

  /** Returns how much of the chunk belongs to it. */
  #continueBlob(open: OpenBlob, chunk: Buffer): number {
    const whole = open.length + 2;
    const taken = Math.min(chunk.length, whole - open.filled);
    if (open.filled + taken > open.bytes.length) {
      const size = Math.min(whole, Math.max(2 * open.bytes.length, open.filled + taken));
      const bytes = Buffer.allocUnsafe(size);
      open.bytes.copy(bytes, 0, 0, open.filled);
      open.bytes = bytes;
    }
    chunk.copy(open.bytes, open.filled, 0, taken);
    open.filled += taken;
    if (open.filled === whole) {
      this.#blob = undefined;
      expectLineEnd(open.bytes, open.length);
      this.#add(blob(open.type, open.bytes.subarray(0, open.length)));
    }
    return taken;
  }

  /** Puts an element where it belongs, and hands over the reply that it completes. */
  #add(element: unknown): void {
    let value = element;
    for (let list = this.#lists.at(-1); list !== undefined; list = this.#lists.at(-1)) {
      list.items.push(value);
      if (--list.missing > 0) return;
      value = list.items;
      this.#lists.pop();
    }
    const isPush = this.#isPush;
    this.#isPush = false;
    this.#bytes = 0;
    this.#elements = 0;
    if (isPush) this.#listener.onPush(value);
    else if (value instanceof ReplyError) this.#listener.onErrorReply(value as Error);
    else this.#listener.onReply(value);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_REPLY_BYTES) throw tooMuch(`more than ${MAX_REPLY_BYTES} bytes`);
  }
}

/** Where the CR of the line is, or -1 if the line goes on in the next chunk. */
function lineEnd(chunk: Buffer, at: number): number {
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

function expectLineEnd(chunk: Buffer, at: number): void {
  if (chunk[at] !== CR || chunk[at + 1] !== LF) throw unreadable('a line without its end');
}

function integer(chunk: Buffer, at: number, end: number): number {
  const sign = chunk[at];
  if (sign === MINUS) return -digits(chunk, at + 1, end);
  return digits(chunk, sign === PLUS ? at + 1 : at, end);
}

function digits(chunk: Buffer, at: number, end: number): number {
  if (at === end) throw unreadable('a number without digits');
  let number = 0;
  for (let i = at; i < end; i++) {
    const digit = (chunk[i] as number) - ZERO;
    if (digit < 0 || digit > 9) throw unreadable('a number with something else in it');
    number = 10 * number + digit;
  }
  return number;
}

/** -1 for null. */
function lengthAt(chunk: Buffer, at: number, end: number): number {
  if (chunk[at] !== MINUS) return digits(chunk, at, end);
  if (digits(chunk, at + 1, end) !== 1) throw unreadable('a negative length');
  return -1;
}

function simple(type: string, line: Buffer): unknown {
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

function blob(type: string, bytes: Buffer): unknown {
  if (type === '$') return bytes;
  if (type === '!') return new ReplyError(bytes.toString());
  if (bytes.length < VERBATIM_FORMAT_BYTES) throw unreadable('a text without its format');
  return bytes.subarray(VERBATIM_FORMAT_BYTES);
}

function unreadable(what: string): SyntaxError {
  return new SyntaxError(`Redis sent ${what}`);
}

function tooMuch(what: string): RangeError {
  return new RangeError(`Redis sent a reply with ${what}`);
}
