/**
 * Decodes the replies of Redis (RESP2 and RESP3) as they arrive, within bounds. A length that a reply announces reserves
 * no memory. A reply that announces or sends more than headgate ever requests is an error, and so is any byte that is not
 * RESP. This decoder replaces that of ioredis, and its replies have the same types: strings are buffers, sets and maps
 * are arrays, booleans are 1 and 0.
 */
import { ReplyError } from 'ioredis';
import {
  expectLineEnd,
  integersAt,
  lineEnd,
  parseBlob,
  parseInteger,
  parseLength,
  parseSimple,
  tooMuch,
  unreadable,
} from './resp-line.ts';

export interface ReplyListener {
  onReply(reply: unknown): void;
  onErrorReply(error: Error): void;
  onPush(reply: unknown): void;
}

/**
 * The largest replies that headgate requests: all overrides (a few megabytes), CLUSTER SLOTS (18 elements for a range of
 * slots with two replicas, four levels deep), SCAN (250 names of keys that other programs may have written).
 */
export const MAX_REPLY_BYTES = 16 * 1_048_576;
export const MAX_ELEMENTS = 100_000;
export const MAX_DEPTH = 8;

const FIRST_BLOB_BYTES = 65_536;

interface OpenList {
  readonly items: unknown[];
  missing: number;
}

interface BlobStart {
  readonly type: string;
  readonly length: number;
}

/** A string of which a part has arrived. `bytes` includes the line end after it. */
interface OpenBlob extends BlobStart {
  bytes: Buffer;
  filled: number;
}

export class ReplyDecoder {
  readonly #listener: ReplyListener;
  readonly #lists: OpenList[] = [];
  #blob: OpenBlob | undefined;
  /** The beginning of a line whose end has not arrived. */
  #rest: Buffer | undefined;
  #isPush = false;
  #isBroken = false;
  #bytes = 0;
  #elements = 0;

  constructor(listener: ReplyListener) {
    this.#listener = listener;
  }

  /** Throws a RangeError or a SyntaxError. Chunks after that are ignored. */
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
      const found = this.#lists.length === 0 ? integersAt(chunk, at) : undefined;
      if (found !== undefined) {
        this.#listener.onReply(found.integers);
        at = found.next;
        continue;
      }
      const end = lineEnd(chunk, at);
      if (end === -1) {
        this.#rest = Buffer.from(chunk.subarray(at));
        return;
      }
      this.#count(end - at);
      at = this.#item(chunk, at, end);
    }
  }

  /** Decodes the element whose line ends at `end`. Returns where the next element begins. */
  #item(chunk: Buffer, at: number, end: number): number {
    const next = end + 2;
    const type = String.fromCharCode(chunk[at] ?? 0);
    switch (type) {
      case ':':
        this.#add(parseInteger(chunk, at + 1, end));
        return next;
      case '*':
      case '~':
      case '>':
      case '%':
        this.#openList(type, parseLength(chunk, at + 1, end));
        return next;
      case '$':
      case '=':
      case '!':
        return this.#openBlob({ type, length: parseLength(chunk, at + 1, end) }, chunk, next);
      default:
        this.#add(parseSimple(type, chunk.subarray(at + 1, end)));
        return next;
    }
  }

  #openList(type: string, claimed: number): void {
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

  #openBlob({ type, length }: BlobStart, chunk: Buffer, start: number): number {
    if (length === -1) {
      this.#add(null);
      return start;
    }
    this.#count(length);
    if (chunk.length >= start + length + 2) {
      expectLineEnd(chunk, start + length);
      this.#add(parseBlob(type, chunk.subarray(start, start + length)));
      return start + length + 2;
    }
    const bytes = Buffer.allocUnsafe(Math.min(length + 2, FIRST_BLOB_BYTES));
    this.#blob = { type, length, bytes, filled: 0 };
    return this.#continueBlob(this.#blob, chunk.subarray(start)) + start;
  }

  /** Returns how many bytes of the chunk belong to the string. */
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
      this.#add(parseBlob(open.type, open.bytes.subarray(0, open.length)));
    }
    return taken;
  }

  /** Adds an element to the open list, and passes on the reply if it is complete. */
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
