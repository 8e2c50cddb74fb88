/**
 * A connection to the gRPC port that checks each frame of the server: windows, acknowledgements, tables, states of
 * streams, answers. https://www.rfc-editor.org/rfc/rfc9113
 */
import type { Socket } from 'node:net';
import { HeaderDecoder } from '../../../../src/gateway/http2/hpack/decoder.ts';
import { frame } from '../../../../test/support/http2-frames.ts';
import { ACK, TYPE, uint32 } from '../frame-writer.ts';
import { type Expected, ReceivedCall } from './received-call.ts';

const HEAD = 9;
const LONGEST = 16_384;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const LARGEST = 2 ** 31 - 1;
const TABLE_SIZE = 1;
const MAX_STREAMS = 3;
const INITIAL_WINDOW = 4;
const WITHIN_MS = 30_000;

interface SentSettings {
  readonly window: number | undefined;
  readonly tableSize: number | undefined;
}

export class StrictConnection {
  readonly calls = new Map<number, ReceivedCall>();
  readonly #link: Socket;
  #mistake: string | undefined;
  #isClosed = false;
  #held: Buffer[] | undefined;
  #isOver = false;
  #received: Buffer = Buffer.alloc(0);
  #changed = Promise.withResolvers<void>();
  #sendWindow = 65_535;
  #receiveWindow = 65_535;
  /** Of new streams: what the server may be sent, and may send. */
  #initialSend = 65_535;
  #initialReceive = 65_535;
  maxStreams = LARGEST;
  maxTableSize = 4_096;
  readonly #settings: SentSettings[] = [];
  readonly #pings: Buffer[] = [];
  #hasSettings = false;
  /** The table was made smaller, so the next block must say so. */
  #expectsSize = false;
  #tableSize = 4_096;
  readonly #decoder = new HeaderDecoder(65_536);
  #block: { readonly stream: number; readonly flags: number; readonly parts: Buffer[] } | undefined;

  constructor(link: Socket) {
    this.#link = link;
    link.on('data', (chunk: Buffer) => this.#read(chunk));
    link.on('close', () => {
      this.#isClosed = true;
      if (!this.#isOver) this.#fail('the server closed the connection');
      this.#changed.resolve();
    });
  }

  get mistake(): string | undefined {
    return this.#mistake;
  }

  open(id: number, expected: Expected): ReceivedCall {
    const windows = { send: this.#initialSend, receive: this.#initialReceive };
    const call = new ReceivedCall(expected, windows);
    this.calls.set(id, call);
    return call;
  }

  write(bytes: Buffer): void {
    if (this.#held !== undefined) this.#held.push(bytes);
    else if (!this.#isClosed) this.#link.write(bytes);
  }

  /** Frames that the server asks for meanwhile come behind them. */
  async writePieces(bytes: Buffer, size: number, pause: () => Promise<void>): Promise<void> {
    this.#held = [];
    for (let at = 0; at < bytes.length && !this.#isClosed; at += size) {
      this.#link.write(bytes.subarray(at, at + size));
      await pause();
    }
    const held = this.#held;
    this.#held = undefined;
    for (const each of held) this.write(each);
  }

  /** How much of the body of a call may be sent now. */
  sendable({ sendWindow }: ReceivedCall): number {
    return Math.max(0, Math.min(sendWindow, this.#sendWindow));
  }

  spend(call: ReceivedCall, bytes: number): void {
    call.sendWindow -= bytes;
    this.#sendWindow -= bytes;
  }

  /** Lets the server send more. */
  grant(id: number, bytes: number): void {
    const call = this.calls.get(id);
    if (id === 0) this.#receiveWindow += bytes;
    else if (call !== undefined) call.receiveWindow += bytes;
    this.write(frame(TYPE.windowUpdate, 0, id, uint32(bytes)));
  }

  get receiveWindow(): number {
    return this.#receiveWindow;
  }

  settings({ window, tableSize }: Partial<SentSettings>, more: readonly [number, number][]): void {
    const fields = [...more];
    if (window !== undefined) fields.push([INITIAL_WINDOW, window]);
    if (tableSize !== undefined) fields.push([TABLE_SIZE, tableSize]);
    const payload = fields.flatMap(([id, value]) => [uint32(id).subarray(2), uint32(value)]);
    this.#settings.push({ window, tableSize });
    // The server may use a larger window before its acknowledgement arrives, and a smaller one only with it.
    if (window !== undefined && window > this.#initialReceive) this.#setReceive(window);
    this.write(frame(TYPE.settings, 0, 0, Buffer.concat(payload)));
  }

  ping(payload: Buffer): void {
    this.#pings.push(payload);
    this.write(frame(TYPE.ping, 0, 0, payload));
  }

  get isSettled(): boolean {
    return this.#pings.length === 0 && this.#settings.length === 0;
  }

  /** Resolves once it is so, or something is wrong. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const timer = setTimeout(() => this.#fail(`waited in vain until ${what}`), WITHIN_MS);
    while (this.#mistake === undefined && !isSo()) await this.#changed.promise;
    clearTimeout(timer);
  }

  end(): void {
    this.#isOver = true;
    this.#link.destroy();
  }

  #fail(what: string): void {
    this.#mistake ??= what;
    this.#changed.resolve();
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= HEAD && this.#mistake === undefined) {
      const length = this.#received.readUIntBE(0, 3);
      if (length > LONGEST) this.#fail(`a frame of ${length} bytes`);
      if (this.#received.length < HEAD + length) break;
      const [type = 0, flags = 0] = this.#received.subarray(3, 5);
      const stream = this.#received.readUInt32BE(5);
      const payload = this.#received.subarray(HEAD, HEAD + length);
      this.#received = this.#received.subarray(HEAD + length);
      const mistake = this.#take({ type, flags, stream, payload });
      if (mistake !== undefined) this.#fail(`${mistake}, in a frame of type ${type} on ${stream}`);
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  #take(it: ReceivedFrame): string | undefined {
    if (!this.#hasSettings && (it.type !== TYPE.settings || it.flags !== 0)) {
      return 'the first frame is not SETTINGS';
    }
    if (this.#block !== undefined && it.type !== TYPE.continuation) return 'a cut header block';
    switch (it.type) {
      case TYPE.settings:
        return this.#takeSettings(it);
      case TYPE.ping:
        return this.#takePing(it);
      case TYPE.windowUpdate:
        return this.#takeCredit(it);
      case TYPE.headers:
      case TYPE.continuation:
        return this.#takeHeaders(it);
      case TYPE.data:
        return this.#takeData(it);
      case TYPE.reset: {
        const call = this.calls.get(it.stream);
        if (call === undefined) return 'a reset of no stream';
        return call.isReset ? undefined : named(call, call.takeReset(it.payload.readUInt32BE(0)));
      }
      case TYPE.goAway:
        return `GOAWAY with ${it.payload.readUInt32BE(4)}`;
      default:
        return 'a type that nobody asked for';
    }
  }

  #takeSettings({ flags, payload }: ReceivedFrame): string | undefined {
    if (flags === ACK) return this.#takeAcknowledgement();
    this.#hasSettings = true;
    for (let at = 0; at < payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      const id = payload.readUInt16BE(at);
      if (id === TABLE_SIZE) this.maxTableSize = value;
      if (id === MAX_STREAMS) this.maxStreams = value;
      if (id !== INITIAL_WINDOW) continue;
      for (const call of this.calls.values()) call.sendWindow += value - this.#initialSend;
      this.#initialSend = value;
    }
    this.write(frame(TYPE.settings, ACK, 0));
    return undefined;
  }

  #takeAcknowledgement(): string | undefined {
    const sent = this.#settings.shift();
    if (sent === undefined) return 'an acknowledgement of no settings';
    const { window, tableSize } = sent;
    if (window !== undefined && !this.#settings.some((later) => later.window !== undefined)) {
      this.#setReceive(window);
    }
    if (tableSize !== undefined && tableSize < this.#tableSize) this.#expectsSize = true;
    this.#tableSize = tableSize ?? this.#tableSize;
    return undefined;
  }

  #setReceive(window: number): void {
    for (const call of this.calls.values()) call.receiveWindow += window - this.#initialReceive;
    this.#initialReceive = window;
  }

  #takePing({ flags, payload }: ReceivedFrame): string | undefined {
    if (flags !== ACK) this.write(frame(TYPE.ping, ACK, 0, payload));
    else if (!this.#pings.shift()?.equals(payload)) return 'an answer to no ping';
    return undefined;
  }

  #takeCredit({ stream, payload }: ReceivedFrame): string | undefined {
    const by = payload.readUInt32BE(0);
    const call = this.calls.get(stream);
    if (by === 0) return 'a credit of 0';
    if (stream === 0) this.#sendWindow += by;
    else if (call === undefined) return 'a credit for no stream';
    else call.sendWindow += by;
    return Math.max(this.#sendWindow, call?.sendWindow ?? 0) > LARGEST
      ? 'too large a window'
      : undefined;
  }

  #takeHeaders({ type, flags, stream, payload }: ReceivedFrame): string | undefined {
    if (type === TYPE.headers) this.#block = { stream, flags, parts: [] };
    if (this.#block === undefined || this.#block.stream !== stream) return 'a lost continuation';
    const { parts, flags: first } = this.#block;
    parts.push(payload);
    if ((flags & END_HEADERS) === 0) return undefined;
    this.#block = undefined;
    const block = Buffer.concat(parts);
    const hasSize = ((block[0] ?? 0) & 0xe0) === 0x20;
    if (this.#expectsSize && !hasSize) return 'no size of the table, which became smaller';
    this.#expectsSize = false;
    const fields = new Map<string, string>();
    this.#decoder.decode(block, (name, value) => fields.set(name, value));
    const call = this.calls.get(stream);
    if (call === undefined) return 'an answer to no call';
    return named(call, call.takeHeaders(fields, (first & END_STREAM) !== 0));
  }

  #takeData({ flags, stream, payload }: ReceivedFrame): string | undefined {
    const call = this.calls.get(stream);
    if (call === undefined) return 'data of no call';
    this.#receiveWindow -= payload.length;
    call.receiveWindow -= payload.length;
    if (payload.length > 0 && this.#receiveWindow < 0) return 'more than the connection may send';
    if (payload.length > 0 && call.receiveWindow < 0 && !call.isReset) {
      return named(call, 'more than the stream may send');
    }
    return named(call, call.takeData(payload, (flags & END_STREAM) !== 0));
  }
}

interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const named = ({ expected }: ReceivedCall, mistake: string | undefined) =>
  mistake && `${mistake} for "${expected.label}"`;
