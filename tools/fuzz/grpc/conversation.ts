/** Conversations in HTTP/2 frames, valid and broken, in any order: https://www.rfc-editor.org/rfc/rfc9113 */
import { frame, PREFACE } from '../../../test/support/http2-frames.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Part, part } from '../plan.ts';
import { callData, callHead, chooseAuthority } from './calls.ts';
import { block, oddity } from './hpack.ts';

const T = {
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
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;
/** As much as a frame may hold unless the gateway allows more. */
const LONGEST = 16_384;
const MOST_ACTIONS = 14;

export class Conversation {
  readonly parts: Part[] = [];
  readonly #random: Random;
  readonly #authority: string;
  #next = 1;
  readonly #opened: number[] = [];

  constructor(random: Random) {
    this.#random = random;
    this.#authority = chooseAuthority(random);
  }

  /** Most connections begin as HTTP/2 does. */
  begin(): this {
    const odd = this.#random.next();
    if (odd > 0.06) {
      this.#add('preface', PREFACE);
      if (odd > 0.1) this.settings();
      return this;
    }
    const starts = [
      '',
      PREFACE.slice(0, 5),
      'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
      'GET /envoy/a HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
      'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
      '\x16\x03\x01\x00\xf8\x01\x00\x00\xf4\x03\x03',
      PREFACE + PREFACE,
    ];
    this.#add('odd start', this.#random.oneOf(starts));
    return this;
  }

  actions(): Part[] {
    for (let left = 1 + this.#random.below(MOST_ACTIONS); left > 0; left--) this.#action();
    return this.parts;
  }

  #action(): void {
    const kind = this.#random.next();
    if (kind < 0.4) this.call();
    else if (kind < 0.55) this.#reset();
    else if (kind < 0.62) this.settings();
    else if (kind < 0.69) this.#windowUpdate();
    else if (kind < 0.74) this.#ping();
    else if (kind < 0.78) this.#goAway();
    else if (kind < 0.82) this.#priority();
    else if (kind < 0.88) this.#data(this.#anyStream());
    else if (kind < 0.91) this.#headers(this.#anyStream(), false);
    else this.#oddFrame();
  }

  /** A call, with its message and its end, or without them. */
  call(): void {
    const random = this.#random;
    const stream = this.#next;
    this.#next += random.next() < 0.97 ? 2 : random.oneOf([1, 4, 1_000]);
    this.#opened.push(stream);
    const ends = random.next() < 0.1;
    this.#headers(stream, ends);
    if (random.next() < 0.15) this.#reset(stream);
    if (ends && random.next() < 0.8) return;
    if (random.next() < 0.85) this.#data(stream);
    if (random.next() < 0.1) this.#trailers(stream);
    if (random.next() < 0.1) this.#reset(stream);
  }

  settings(): void {
    const random = this.#random;
    const fields: number[][] = [];
    for (let left = random.below(4); left > 0; left--) {
      fields.push([
        random.oneOf([1, 2, 3, 4, 4, 5, 6, 8, 9, 0, 0xff]),
        random.oneOf([0, 0, 1, 100, 4_096, 16_384, 65_535, 2 ** 24, 2 ** 31 - 1, 2 ** 31]),
      ]);
    }
    const payload = Buffer.alloc(fields.length * 6);
    for (const [i, [id = 0, value = 0]] of fields.entries()) {
      payload.writeUInt16BE(id, i * 6);
      payload.writeUInt32BE(value, i * 6 + 2);
    }
    this.#frame(`settings ${JSON.stringify(fields)}`, T.settings, 0, 0, payload);
    if (random.next() < 0.3) this.#frame('settings ack', T.settings, ACK, 0);
  }

  #headers(stream: number, ends: boolean): void {
    const { label, fields } = callHead(this.#random, this.#authority);
    const random = this.#random;
    let bytes = block(random, fields);
    if (random.next() < 0.06) {
      const odd = oddity(random);
      bytes = Buffer.concat(random.next() < 0.5 ? [odd, bytes] : [bytes, odd]);
    }
    this.#headerFrames(`headers on ${stream}: ${label}`, stream, ends ? END_STREAM : 0, bytes);
  }

  #trailers(stream: number): void {
    const bytes = block(this.#random, [['x-checksum', '1']]);
    this.#headerFrames(`trailers on ${stream}`, stream, this.#chance(0.8) ? END_STREAM : 0, bytes);
  }

  /** One frame, or several, with padding and priority or without. */
  #headerFrames(label: string, stream: number, flags: number, bytes: Buffer): void {
    const random = this.#random;
    let payload = bytes;
    let all = flags;
    const rest: Buffer[] = [];
    if (random.next() < 0.12 || bytes.length > LONGEST - 300) {
      const at = Math.min(random.below(bytes.length + 1), LONGEST - 300);
      payload = bytes.subarray(0, at);
      for (let from = at; from < bytes.length || rest.length === 0; from += LONGEST) {
        rest.push(bytes.subarray(from, from + LONGEST));
      }
    }
    if (random.next() < 0.15) {
      all |= PRIORITY;
      const on = random.oneOf([0, 1, stream, 2 ** 31 + 1]);
      payload = Buffer.concat([uint32(on), Buffer.from([random.below(256)]), payload]);
    }
    if (random.next() < 0.12) {
      all |= PADDED;
      payload = this.#padded(payload);
    }
    if (rest.length === 0) all |= END_HEADERS;
    this.#frame(label, T.headers, all, stream, payload);
    for (const [i, each] of rest.entries()) {
      if (this.#chance(0.05)) this.#oddFrame();
      const isLast = i === rest.length - 1 && this.#chance(0.9);
      this.#frame(`${label}, continued`, T.continuation, isLast ? END_HEADERS : 0, stream, each);
    }
  }

  #data(stream: number): void {
    const { label, bytes } = callData(this.#random);
    const ends = this.#chance(0.85);
    for (let from = 0; from === 0 || from < bytes.length; from += LONGEST) {
      const isLast = from + LONGEST >= bytes.length;
      let payload = bytes.subarray(from, from + LONGEST);
      let flags = isLast && ends ? END_STREAM : 0;
      if (payload.length < LONGEST - 300 && this.#chance(0.1)) {
        flags |= PADDED;
        payload = this.#padded(payload);
      }
      this.#frame(`data on ${stream}: ${label}`, T.data, flags, stream, payload);
    }
  }

  #reset(stream = this.#anyStream()): void {
    const code = this.#random.oneOf([0, 2, 5, 7, 8, 8, 8, 11, 0xffff_ffff]);
    this.#frame(`reset of ${stream} with ${code}`, T.reset, 0, stream, uint32(code));
  }

  #windowUpdate(): void {
    const by = this.#random.oneOf([0, 1, 100, 65_535, 2 ** 31 - 1, 2 ** 31]);
    const stream = this.#chance(0.5) ? 0 : this.#anyStream();
    this.#frame(`window of ${stream} by ${by}`, T.windowUpdate, 0, stream, uint32(by));
  }

  #ping(): void {
    const count = this.#chance(0.1) ? 200 : 1;
    const pings = Array.from({ length: count }, () => frame(T.ping, 0, 0, Buffer.alloc(8, 7)));
    if (this.#chance(0.8)) this.#add(`${count} pings`, Buffer.concat(pings));
    else this.#frame('ping ack', T.ping, ACK, 0, Buffer.alloc(8, 1));
  }

  #goAway(): void {
    const payload = Buffer.concat([
      uint32(this.#random.oneOf([0, 1, 5, 2 ** 31 - 1, 2 ** 31])),
      uint32(this.#random.oneOf([0, 1, 11])),
      Buffer.alloc(this.#random.below(20), 'x'),
    ]);
    this.#frame('go away', T.goAway, 0, 0, payload);
  }

  #priority(): void {
    const stream = this.#anyStream();
    const on = this.#random.oneOf([0, 1, stream, 99]);
    this.#frame(
      `priority of ${stream} on ${on}`,
      T.priority,
      0,
      stream,
      Buffer.concat([uint32(on), Buffer.from([this.#random.below(256)])]),
    );
  }

  /** Any type, flags, stream and length, which may be wrong for the type; or no frame at all. */
  #oddFrame(): void {
    const random = this.#random;
    const noise = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
    if (random.next() < 0.15) this.#add('noise', noise);
    else if (random.next() < 0.1) {
      this.#add('frame that is too long', Buffer.from([0xff, 0xff, 0xff, 1, 4, 0, 0, 0, 1]));
    } else {
      const type = random.oneOf([...Object.values(T), 10, 12, 16, 0xff]);
      const flags = random.oneOf([0, 1, 4, 5, 8, 0x20, 0x2d, 0xff]);
      this.#frame('odd frame', type, flags, this.#anyStream(), noise);
    }
  }

  /** The amount of padding may be more than there is. */
  #padded(payload: Buffer): Buffer {
    const length = this.#random.below(256);
    const stated = this.#chance(0.9) ? length : 255;
    return Buffer.concat([Buffer.from([stated]), payload, Buffer.alloc(length)]);
  }

  /** Mostly one that was opened. */
  #anyStream(): number {
    if (this.#opened.length > 0 && this.#chance(0.8)) return this.#random.oneOf(this.#opened);
    return this.#random.oneOf([0, 1, 2, 3, this.#next, this.#next + 2, 2 ** 31 - 1]);
  }

  #chance(chance: number): boolean {
    return this.#random.next() < chance;
  }

  #frame(label: string, type: number, flags: number, stream: number, payload?: Buffer): void {
    this.#add(`${label} (flags ${flags})`, frame(type, flags, stream, payload));
  }

  #add(label: string, bytes: Uint8Array | string): void {
    this.parts.push(part(label, bytes));
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
