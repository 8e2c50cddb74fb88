/**
 * Calls in every way that HTTP/2 allows, on one connection: with padding, in pieces, through windows of a few bytes, with
 * settings and tables that change midway. Each call must get its right answer, and the server must break no rule.
 */
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { PREFACE } from '../../../../test/support/http2-frames.ts';
import type { Random } from '../../../../test/support/random.ts';
import type { Place } from '../../drive.ts';
import { END_STREAM, FrameWriter, TYPE, uint32 } from '../frame-writer.ts';
import { TableEncoder } from '../table-encoder.ts';
import { KINDS, type Kind, LARGE_KINDS, requestBlock } from './kinds.ts';
import type { ReceivedCall } from './received-call.ts';
import { StrictConnection } from './strict-connection.ts';

const CALLS = 30;
const MOST_OPEN = 20;
const CANCEL = 8;
/** A frame with its longest padding. */
const PADDED_BY = 256;
const LARGEST_PIECE = 16_000;
/** On a busy machine a client is too late with its first request or the rest of a frame, and is disconnected for it. */
const LATE_AFTER_MS = 4_000;
const ENDS_LATE_CLIENTS = /closed the connection|reset with code 8/;

interface DataOptions {
  readonly padding: number | undefined;
  readonly ends: boolean;
}

/** Resolves to what is wrong with what the server sent. */
export async function strictMistake(random: Random, place: Place): Promise<string | undefined> {
  const socket = connect({ port: place.port, host: '127.0.0.1', noDelay: true });
  const link = place.hasTls
    ? connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    : socket;
  for (const each of [socket, link]) each.on('error', () => {});
  const startMs = performance.now();
  const mistake = await new StrictCaller(random, new StrictConnection(link)).mistake();
  const isLate = performance.now() - startMs > LATE_AFTER_MS;
  return isLate && ENDS_LATE_CLIENTS.test(mistake ?? '') ? undefined : mistake;
}

class StrictCaller {
  readonly #random: Random;
  readonly #connection: StrictConnection;
  readonly #encoder: TableEncoder;
  readonly #writer: FrameWriter;
  /** How long the pieces are into which the bytes of the connection are cut. */
  readonly #pieces: number;
  readonly #kinds: readonly Kind[];
  #next = 1;

  constructor(random: Random, connection: StrictConnection) {
    this.#random = random;
    this.#connection = connection;
    this.#encoder = new TableEncoder(random);
    this.#writer = new FrameWriter(random, () => false);
    this.#pieces = random.oneOf([1, 20, 300, 100_000, 100_000]);
    this.#kinds = random.next() < 0.1 ? LARGE_KINDS : KINDS;
  }

  async mistake(): Promise<string | undefined> {
    this.#connection.write(Buffer.from(PREFACE));
    this.#settings();
    for (let left = CALLS; left > 0 && this.#connection.mistake === undefined; left--) {
      const { calls } = this.#connection.windows;
      const open = [...calls.values()].filter((call) => !call.hasEnded && !call.isReset);
      if (open.length >= MOST_OPEN) await this.#finish();
      await this.#call();
      this.#between();
      await this.#write();
    }
    await this.#finish();
    this.#ping();
    await this.#connection.until('all is acknowledged', () => this.#connection.isSettled);
    const { mistake } = this.#connection;
    this.#connection.end();
    return mistake;
  }

  async #call(): Promise<void> {
    const id = this.#next;
    this.#next += this.#random.oneOf([2, 2, 2, 10]);
    const kind = this.#random.oneOf(this.#kinds);
    const label = `${kind.path} as ${kind.type ?? 'gRPC'} on ${id}`;
    const call = this.#connection.open(id, { ...kind.expected, label });
    const withTrailers = this.#chance(0.1);
    this.#writer.headers(label, id, requestBlock(kind, this.#encoder, this.#random), false);
    await this.#body(id, call, { bytes: kind.bytes(this.#random), ends: !withTrailers });
    if (call.isReset) return;
    if (withTrailers) {
      this.#writer.headers('trailers', id, this.#encoder.block([['x-checksum', '1']]), true);
    }
    if (kind.expected.staysOpen ? this.#chance(0.5) : this.#chance(0.05)) this.#reset(id, call);
  }

  async #body(
    id: number,
    call: ReceivedCall,
    { bytes, ends }: { bytes: Buffer; ends: boolean },
  ): Promise<void> {
    let at = 0;
    do {
      if (this.#chance(0.02)) return this.#reset(id, call);
      const most = this.#random.oneOf([1, 100, LARGEST_PIECE, LARGEST_PIECE]);
      let length = Math.min(most, bytes.length - at);
      const padding = this.#chance(0.3) ? this.#random.below(PADDED_BY) : undefined;
      const cost = length + (padding === undefined ? 0 : padding + 1);
      if (this.#connection.windows.sendable(call) < cost) {
        await this.#write();
        const fits = () => this.#connection.windows.sendable(call) >= cost || call.hasEnded;
        await this.#connection.until(`${cost} bytes of a request may be sent`, fits);
        if (this.#connection.mistake !== undefined) return;
        // It has its answer, and its rest is not wanted.
        if (call.hasEnded && this.#connection.windows.sendable(call) < cost)
          return this.#reset(id, call);
      }
      if (this.#chance(0.05)) length = 0;
      const isLast = at + length === bytes.length;
      const paid = length + (padding === undefined ? 0 : padding + 1);
      this.#connection.windows.sent(call, paid);
      this.#data(id, bytes.subarray(at, at + length), { padding, ends: isLast && ends });
      at += length;
      if (this.#chance(0.1)) this.#between();
      if (isLast) return;
    } while (at < bytes.length || bytes.length === 0);
  }

  #data(id: number, bytes: Uint8Array, { padding, ends }: DataOptions): void {
    const flags = (ends ? END_STREAM : 0) | (padding === undefined ? 0 : 0x8);
    const head = padding === undefined ? [] : [Buffer.from([padding])];
    const payload = Buffer.concat([...head, bytes, Buffer.alloc(padding ?? 0)]);
    this.#writer.frame('data', TYPE.data, id, payload, flags);
  }

  #reset(id: number, call: ReceivedCall): void {
    if (call.isReset) return;
    call.isReset = true;
    this.#writer.frame('reset', TYPE.reset, id, uint32(CANCEL));
  }

  /** What may stand between any two frames. */
  #between(): void {
    const kind = this.#random.next();
    if (kind < 0.15) this.#flushed(() => this.#ping());
    else if (kind < 0.35) this.#flushed(() => this.#settings());
    else if (kind < 0.5) this.#flushed(() => this.#grant());
    else if (kind < 0.55) this.#encoder.resize(this.#tableSize());
    else if (kind < 0.6) {
      const stream = this.#random.oneOf([this.#next - 2, this.#next + 100, 1]);
      const on = uint32(stream + 2);
      const payload = Buffer.concat([on, Buffer.from([this.#random.below(256)])]);
      if (stream > 0) this.#writer.frame('priority', TYPE.priority, stream, payload);
    } else if (kind < 0.65) {
      this.#writer.frame('unknown', 0xaa, this.#random.oneOf([0, 1]), Buffer.alloc(20));
    }
  }

  /** The connection writes at once: what was collected comes first. */
  #flushed(work: () => void): void {
    this.#connection.write(this.#taken());
    work();
  }

  #tableSize(): number {
    return Math.min(this.#connection.maxTableSize, this.#random.oneOf([0, 40, 200, 4_096]));
  }

  #ping(): void {
    const bytes = Array.from({ length: 8 }, () => this.#random.below(256));
    this.#connection.ping(Buffer.from(bytes));
  }

  #settings(): void {
    const window = this.#chance(0.7)
      ? this.#random.oneOf([0, 1, 7, 100, 65_535, 2 ** 20])
      : undefined;
    const tableSize = this.#chance(0.5)
      ? this.#random.oneOf([0, 1, 100, 4_096, 65_536])
      : undefined;
    const frameSize = this.#chance(0.2) ? [[5, 16_384] as [number, number]] : [];
    this.#connection.settings({ window, tableSize }, frameSize);
  }

  /** Mostly little. */
  #grant(): void {
    const by = this.#random.oneOf([1, 1, 10, 1_000]);
    if (this.#connection.windows.receive < 1_000_000) this.#connection.grant(0, by);
    const open = [...this.#connection.windows.calls].filter(
      ([, call]) => !call.hasEnded && !call.isReset,
    );
    if (open.length > 0) this.#connection.grant(this.#random.oneOf(open)[0], by);
  }

  /** Waits for the answers, and grants what they need: all at once, or byte by byte. */
  async #finish(): Promise<void> {
    const connection = this.#connection;
    for (const [id, call] of connection.windows.calls) {
      if (call.hasEnded || call.isReset) continue;
      if (call.expected.staysOpen) {
        this.#reset(id, call);
        continue;
      }
      await this.#write();
      const step = this.#random.oneOf([1, 20, 10_000]);
      while (!call.hasEnded && connection.mistake === undefined) {
        if (connection.windows.receive < 10_000) connection.grant(0, 65_535);
        if (call.receiveWindow < 1) connection.grant(id, step - call.receiveWindow);
        const before = call.receiveWindow;
        const moved = () => call.hasEnded || call.receiveWindow !== before;
        await connection.until(`${call.expected.label} goes on`, moved);
      }
    }
    await this.#write();
  }

  #write(): Promise<void> {
    return this.#connection.writePieces(this.#taken(), this.#pieces, async () => {
      if (this.#chance(0.3)) await new Promise((resolve) => setImmediate(resolve));
    });
  }

  #taken(): Buffer {
    return Buffer.concat(this.#writer.parts.splice(0).map(({ bytes }) => bytes));
  }

  #chance(chance: number): boolean {
    return this.#random.next() < chance;
  }
}
