/** Writes frames of HTTP/2, in one piece or in several, with padding and priority or without. */
import { frame } from '../../../test/support/http2-frames.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Part, part } from '../plan.ts';

export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const END_STREAM = 0x1;
export const ACK = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;

/** As much as a frame may hold unless the gateway allows more. */
const LONGEST = 16_384;
const LONGEST_PADDING = 255;
const PRIORITY_LENGTH = 5;
/** What fits beside padding and priority. */
const FITS = LONGEST - LONGEST_PADDING - PRIORITY_LENGTH - 1;

const NOTHING = Buffer.alloc(0);

export class FrameWriter {
  readonly parts: Part[] = [];
  readonly #random: Random;
  /** Whether the next thing may be against the protocol. */
  readonly #mayBreak: () => boolean;

  constructor(random: Random, mayBreak: () => boolean) {
    this.#random = random;
    this.#mayBreak = mayBreak;
  }

  add(label: string, bytes: Uint8Array | string): void {
    this.parts.push(part(label, bytes));
  }

  frame(label: string, type: number, stream = 0, payload: Uint8Array = NOTHING, flags = 0): void {
    this.add(`${label} (flags ${flags})`, frame(type, flags, stream, payload));
  }

  headers(label: string, stream: number, block: Uint8Array, ends: boolean): void {
    const [first, ...rest] = this.#blockPieces(block);
    let flags = (ends ? END_STREAM : 0) | (rest.length === 0 ? END_HEADERS : 0);
    let payload = first;
    if (this.#random.next() < 0.15) {
      flags |= PRIORITY;
      payload = Buffer.concat([this.priority(stream), payload]);
    }
    if (this.#random.next() < 0.12) {
      flags |= PADDED;
      payload = this.#padded(payload);
    }
    this.frame(label, TYPE.headers, stream, payload, flags);
    for (const [i, each] of rest.entries()) {
      const isLast = i === rest.length - 1;
      if (this.#mayBreak()) this.noise(stream);
      const lastFlags = isLast && !this.#mayBreak() ? END_HEADERS : 0;
      this.frame(`${label}, continued`, TYPE.continuation, stream, each, lastFlags);
    }
  }

  #blockPieces(block: Uint8Array): [Uint8Array, ...Uint8Array[]] {
    if (block.length <= FITS && this.#random.next() < 0.88) return [block];
    const at = Math.min(this.#random.below(block.length + 1), FITS);
    const rest = [block.subarray(at, at + LONGEST)];
    for (let from = at + LONGEST; from < block.length; from += LONGEST) {
      rest.push(block.subarray(from, from + LONGEST));
    }
    return [block.subarray(0, at), ...rest];
  }

  data(label: string, stream: number, bytes: Uint8Array, ends: boolean): void {
    for (let from = 0; from === 0 || from < bytes.length; from += FITS) {
      const isLast = from + FITS >= bytes.length;
      const payload = bytes.subarray(from, from + FITS);
      const flags = isLast && ends ? END_STREAM : 0;
      if (this.#random.next() < 0.9) this.frame(label, TYPE.data, stream, payload, flags);
      else this.frame(label, TYPE.data, stream, this.#padded(payload), flags | PADDED);
    }
  }

  /** Bytes for the field of a dependency and a weight. */
  priority(stream: number): Buffer {
    const on = this.#mayBreak() ? stream : this.#random.oneOf([0, 2 ** 31, stream + 2]);
    return Buffer.concat([uint32(on), Buffer.from([this.#random.below(256)])]);
  }

  /** A frame of any type, flags and length, which may be wrong for the type; or no frame at all. */
  noise(stream: number): void {
    const random = this.#random;
    const bytes = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
    const kind = random.next();
    if (kind < 0.15) this.add('noise', bytes);
    else if (kind < 0.25) {
      this.add('frame that is too long', Buffer.from([0xff, 0xff, 0xff, 1, 4, 0, 0, 0, 1]));
    } else {
      const type = random.oneOf([...Object.values(TYPE), 10, 12, 16, 0xff]);
      this.frame('odd frame', type, stream, bytes, random.oneOf([0, 1, 4, 5, 8, 0x20, 0x2d, 0xff]));
    }
  }

  #padded(payload: Uint8Array): Buffer {
    const length = this.#random.below(LONGEST_PADDING + 1);
    const stated = this.#mayBreak() ? LONGEST_PADDING : length;
    return Buffer.concat([Buffer.from([stated]), payload, Buffer.alloc(length)]);
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
