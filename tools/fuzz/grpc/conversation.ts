/** Conversations in HTTP/2 frames, valid and broken, in any order: https://www.rfc-editor.org/rfc/rfc9113 */
import { STREAM_ACCESS_LOGS } from '../../../test/support/access-logs.ts';
import { CHECK } from '../../../test/support/grpc-frames.ts';
import { frame, PREFACE } from '../../../test/support/http2-frames.ts';
import type { Random } from '../../../test/support/random.ts';
import type { Part } from '../plan.ts';
import { callData, callHead, chooseAuthority } from './calls.ts';
import { flood } from './floods.ts';
import { ACK, FrameWriter, TYPE, uint32 } from './frame-writer.ts';
import { block, type Field, oddity } from './hpack.ts';
import { ODD_STARTS, ODD_VALUES, SETTINGS } from './odd-values.ts';
import { TableEncoder } from './table-encoder.ts';

const MOST_ACTIONS = 14;
/** Streams that one flood opens. */
const MOST_OF_A_FLOOD = 10_000;
/** How often an action is against the protocol. It mostly ends the connection, so most conversations have few. */
const WILDNESS = [0, 0, 0.03, 0.15, 0.6];
/** How often an action is a flood. It mostly ends the connection, too. */
const FLOODINESS = [0, 0, 0, 0, 0.1];
const CANCEL = 8;
/** Messages of a stream before its last one. */
const MOST_MESSAGES = 8;

export class Conversation {
  readonly #random: Random;
  readonly #wildness: number;
  readonly #floodiness: number;
  /** Without it, fields do not refer to earlier ones. */
  readonly #table: TableEncoder | undefined;
  readonly #authority: string;
  readonly #write: FrameWriter;
  #next = 1;
  readonly #opened: number[] = [];
  #hasAcknowledged = false;

  constructor(random: Random) {
    this.#random = random;
    this.#wildness = random.oneOf(WILDNESS);
    this.#floodiness = random.oneOf(FLOODINESS);
    this.#table = random.next() < 0.5 ? new TableEncoder(random) : undefined;
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
    if (this.#chance(this.#floodiness)) this.#flood();
    else if (this.#breaks()) this.#write.noise(this.#anyStream());
    else if (kind < 0.6 || this.#opened.length === 0) this.#call();
    else if (kind < 0.7) this.#reset(this.#anyStream());
    else if (kind < 0.77) this.#settings();
    else if (kind < 0.83) this.#windowUpdate();
    else if (kind < 0.845) this.#drip();
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
    if (path === STREAM_ACCESS_LOGS) this.#messages(stream, path);
    const hasTrailers = this.#chance(0.06);
    if (this.#chance(0.9)) this.#data(stream, path, !hasTrailers && this.#chance(0.93));
    if (hasTrailers) this.#trailers(stream);
    if (this.#chance(0.1)) this.#reset(stream);
  }

  /** Other calls may come between them. */
  #messages(stream: number, path: string): void {
    for (let left = this.#random.below(MOST_MESSAGES); left > 0; left--) {
      this.#data(stream, path, false);
      if (this.#chance(0.1)) this.#action();
    }
  }

  /** Returns the path of the call. */
  #headers(stream: number, ends: boolean): string {
    const { path, label, fields } = callHead(this.#random, this.#authority, this.#breaks());
    const bytes = [this.#block(fields)];
    if (this.#breaks()) bytes.splice(this.#random.below(2), 0, oddity(this.#random));
    this.#write.headers(`headers on ${stream}: ${label}`, stream, Buffer.concat(bytes), ends);
    return path;
  }

  #block(fields: readonly Field[]): Buffer {
    if (this.#table === undefined) return block(this.#random, fields);
    if (this.#chance(0.1)) this.#table.resize(this.#random.oneOf([0, 50, 300, 4_096]));
    return this.#table.block(fields);
  }

  #flood(): void {
    const { label, bytes } = flood(this.#random, this.#next);
    this.#write.add(label, bytes);
    this.#next += 2 * MOST_OF_A_FLOOD;
  }

  /** A window of a few bytes, and credit for a few bytes at a time. */
  #drip(): void {
    const window = this.#random.below(10);
    const payload = Buffer.concat([uint32(4).subarray(2), uint32(window)]);
    this.#write.frame(`a window of ${window}`, TYPE.settings, 0, payload);
    this.#call();
    for (let left = this.#random.below(200); left > 0; left--) {
      const stream = this.#anyStream();
      const by = 1 + this.#random.below(5);
      this.#write.frame(`drop for ${stream}`, TYPE.windowUpdate, stream, uint32(by));
    }
  }

  #trailers(stream: number): void {
    const bytes = this.#block([[this.#breaks() ? ':path' : 'x-checksum', '1']]);
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
