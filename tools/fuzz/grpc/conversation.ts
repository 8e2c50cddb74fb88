/** Conversations in HTTP/2 frames, valid and broken, in any order: https://www.rfc-editor.org/rfc/rfc9113 */
import { CHECK } from '../../../test/support/grpc-frames.ts';
import { frame, PREFACE } from '../../../test/support/http2-frames.ts';
import type { Random } from '../../../test/support/random.ts';
import type { Part } from '../plan.ts';
import { callData, callHead, chooseAuthority } from './calls.ts';
import { ACK, FrameWriter, TYPE, uint32 } from './frame-writer.ts';
import { block, oddity } from './hpack.ts';

const MOST_ACTIONS = 14;
/** How often an action is against the protocol. It mostly ends the connection, so most conversations have few. */
const WILDNESS = [0, 0, 0.03, 0.15, 0.6];
const CANCEL = 8;

export class Conversation {
  readonly #random: Random;
  readonly #wildness: number;
  readonly #authority: string;
  readonly #write: FrameWriter;
  #next = 1;
  readonly #opened: number[] = [];
  #hasAcknowledged = false;

  constructor(random: Random) {
    this.#random = random;
    this.#wildness = random.oneOf(WILDNESS);
    this.#authority = chooseAuthority(random);
    this.#write = new FrameWriter(random, () => this.#breaks());
  }

  parts(): Part[] {
    this.#begin();
    for (let left = 1 + this.#random.below(MOST_ACTIONS); left > 0; left--) this.#action();
    return this.#write.parts;
  }

  #begin(): void {
    if (this.#chance(0.04)) {
      this.#write.add('odd start', this.#random.oneOf(ODD_STARTS));
      return;
    }
    this.#write.add('preface', PREFACE);
    if (!this.#breaks()) this.#settings();
  }

  #action(): void {
    const kind = this.#random.next();
    if (this.#breaks()) this.#write.noise(this.#anyStream());
    else if (kind < 0.6 || this.#opened.length === 0) this.#call();
    else if (kind < 0.7) this.#reset(this.#anyStream());
    else if (kind < 0.77) this.#settings();
    else if (kind < 0.84) this.#windowUpdate();
    else if (kind < 0.89) this.#ping();
    else if (kind < 0.92) this.#goAway();
    else if (kind < 0.95) {
      const stream = this.#anyStream();
      this.#write.frame(
        `priority of ${stream}`,
        TYPE.priority,
        stream,
        this.#write.priority(stream),
      );
    } else if (kind < 0.97) {
      this.#write.frame('frame of an unknown type', 0xaa, this.#anyStream(), Buffer.alloc(9));
    } else this.#data(this.#anyStream(), CHECK, true);
  }

  /** A call, with its message and its end, or without them. */
  #call(): void {
    const stream = this.#next;
    this.#next += this.#breaks() ? 1 : this.#random.oneOf([2, 2, 2, 2, 2, 4, 1_000]);
    this.#opened.push(stream);
    const ends = this.#chance(0.06);
    const path = this.#headers(stream, ends);
    if (this.#chance(0.12)) {
      this.#reset(stream);
      return;
    }
    if (ends) return;
    const hasTrailers = this.#chance(0.06);
    if (this.#chance(0.9)) this.#data(stream, path, !hasTrailers && this.#chance(0.93));
    if (hasTrailers) this.#trailers(stream);
    if (this.#chance(0.1)) this.#reset(stream);
  }

  /** Returns the path of the call. */
  #headers(stream: number, ends: boolean): string {
    const { path, label, fields } = callHead(this.#random, this.#authority, this.#breaks());
    const bytes = [block(this.#random, fields)];
    if (this.#breaks()) bytes.splice(this.#random.below(2), 0, oddity(this.#random));
    this.#write.headers(`headers on ${stream}: ${label}`, stream, Buffer.concat(bytes), ends);
    return path;
  }

  #trailers(stream: number): void {
    const bytes = block(this.#random, [[this.#breaks() ? ':path' : 'x-checksum', '1']]);
    this.#write.headers(`trailers on ${stream}`, stream, bytes, !this.#breaks());
  }

  #data(stream: number, path: string, ends: boolean): void {
    const { label, bytes } = callData(this.#random, path);
    this.#write.data(`data on ${stream}: ${label}`, stream, bytes, ends);
  }

  #reset(stream: number): void {
    const code = this.#random.oneOf([0, 2, 5, 7, CANCEL, CANCEL, CANCEL, 11, 0xffff_ffff]);
    this.#write.frame(`reset of ${stream} with ${code}`, TYPE.reset, stream, uint32(code));
  }

  #settings(): void {
    const fields: [id: number, value: number][] = [];
    for (let left = this.#random.below(4); left > 0; left--) {
      const [id, values] = this.#random.oneOf(SETTINGS);
      fields.push([id, this.#random.oneOf(this.#breaks() ? ODD_VALUES : values)]);
    }
    const payload = Buffer.concat(
      fields.flatMap(([id, value]) => [uint32(id).subarray(2), uint32(value)]),
    );
    this.#write.frame(`settings ${JSON.stringify(fields)}`, TYPE.settings, 0, payload);
    if (this.#hasAcknowledged && !this.#breaks()) return;
    this.#hasAcknowledged = true;
    this.#write.frame('settings ack', TYPE.settings, 0, undefined, ACK);
  }

  #windowUpdate(): void {
    const by = this.#random.oneOf(this.#breaks() ? [0, 2 ** 31 - 1, 2 ** 31] : [1, 100, 65_535]);
    const stream = this.#chance(0.5) ? 0 : this.#anyStream();
    this.#write.frame(`window of ${stream} by ${by}`, TYPE.windowUpdate, stream, uint32(by));
  }

  #ping(): void {
    if (this.#breaks()) {
      this.#write.frame('ping ack', TYPE.ping, 0, Buffer.alloc(8, 1), ACK);
      return;
    }
    const count = this.#chance(0.1) ? 200 : 1;
    const pings = Array.from({ length: count }, () => frame(TYPE.ping, 0, 0, Buffer.alloc(8, 7)));
    this.#write.add(`${count} pings`, Buffer.concat(pings));
  }

  #goAway(): void {
    const last = this.#random.oneOf(this.#breaks() ? [1, 5] : [0, 2, 2 ** 31 - 2]);
    const code = this.#random.oneOf([0, 1, 11]);
    const why = Buffer.alloc(this.#random.below(20), 'x');
    const payload = Buffer.concat([uint32(last), uint32(code), why]);
    this.#write.frame(`go away with ${code}`, TYPE.goAway, 0, payload);
  }

  /** One that was opened, if any. */
  #anyStream(): number {
    if (this.#opened.length === 0 || this.#breaks()) {
      return this.#random.oneOf([0, 1, 2, this.#next, 2 ** 31 - 1]);
    }
    return this.#random.oneOf(this.#opened);
  }

  #breaks(): boolean {
    return this.#chance(this.#wildness);
  }

  #chance(chance: number): boolean {
    return this.#random.next() < chance;
  }
}

const ODD_STARTS = [
  '',
  PREFACE.slice(0, 5),
  'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
  'GET /envoy/a HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
  'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
  '\x16\x03\x01\x00\xf8\x01\x00\x00\xf4\x03\x03',
  PREFACE + PREFACE,
];

/** Numbers of settings, with values that the gateway must accept. */
const SETTINGS: readonly (readonly [id: number, values: readonly number[]])[] = [
  [1, [0, 1, 100, 4_096, 65_536]],
  [2, [0, 1]],
  [3, [0, 1, 100, 2 ** 31]],
  [4, [0, 0, 1, 100, 65_535, 2 ** 24, 2 ** 31 - 1]],
  [5, [16_384, 2 ** 24 - 1]],
  [6, [0, 100, 2 ** 31]],
  [8, [0]],
  [9, [0]],
  [0xff, [0, 1]],
];
const ODD_VALUES = [0, 2, 100, 2 ** 24, 2 ** 31, 2 ** 32 - 1];
