/**
 * A connection to the gRPC port that checks each frame of the server: windows, acknowledgements, tables, states of
 * streams, answers. https://www.rfc-editor.org/rfc/rfc9113
 */
import type { Socket } from 'node:net';
import { frame } from '../../../../test/support/http2-frames.ts';
import { ACK, END_STREAM, TYPE, uint32 } from '../frame-writer.ts';
import { AnswerHeaders } from './answer-headers.ts';
import { type Expected, ReceivedCall } from './received-call.ts';
import { type ReceivedFrame, ReceivedFrames } from './received-frames.ts';
import { Windows } from './windows.ts';

const TABLE_SIZE = 1;
const INITIAL_WINDOW = 4;
const WITHIN_MS = 30_000;
/** A frame that took long would be late. */
const MOST_PIECES = 50;

interface SentSettings {
  readonly window: number | undefined;
  readonly tableSize: number | undefined;
}

export class StrictConnection {
  readonly windows = new Windows();
  readonly #link: Socket;
  #mistake: string | undefined;
  #isClosed = false;
  #held: Buffer[] | undefined;
  #isOver = false;
  readonly #frames = new ReceivedFrames();
  readonly #headers = new AnswerHeaders();
  #changed = Promise.withResolvers<void>();
  maxTableSize = 4_096;
  readonly #settings: SentSettings[] = [];
  readonly #pings: Buffer[] = [];
  #hasSettings = false;

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
    const call = new ReceivedCall(expected, this.windows.initial);
    this.windows.calls.set(id, call);
    return call;
  }

  write(bytes: Buffer): void {
    if (this.#held !== undefined) this.#held.push(bytes);
    else if (!this.#isClosed) this.#link.write(bytes);
  }

  /** Frames that the server asks for meanwhile come behind them. */
  async writePieces(bytes: Buffer, size: number, pause: () => Promise<void>): Promise<void> {
    this.#held = [];
    for (let at = 0, left = MOST_PIECES; at < bytes.length && !this.#isClosed; left--) {
      const end = left === 0 ? bytes.length : at + size;
      this.#link.write(bytes.subarray(at, end));
      at = end;
      await pause();
    }
    const held = this.#held;
    this.#held = undefined;
    for (const each of held) this.write(each);
  }

  /** Lets the server send more. */
  grant(id: number, bytes: number): void {
    this.windows.granted(id, bytes);
    this.write(frame(TYPE.windowUpdate, 0, id, uint32(bytes)));
  }

  settings({ window, tableSize }: Partial<SentSettings>, more: readonly [number, number][]): void {
    const fields = [...more];
    if (window !== undefined) fields.push([INITIAL_WINDOW, window]);
    if (tableSize !== undefined) fields.push([TABLE_SIZE, tableSize]);
    const payload = fields.flatMap(([id, value]) => [uint32(id).subarray(2), uint32(value)]);
    this.#settings.push({ window, tableSize });
    if (window !== undefined) this.windows.announceReceive(window);
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
    for (const each of this.#frames.add(chunk)) {
      if (this.#mistake !== undefined) break;
      const mistake = typeof each === 'string' ? each : this.#take(each);
      if (mistake !== undefined) this.#fail(mistake);
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  #take(it: ReceivedFrame): string | undefined {
    if (!this.#hasSettings && (it.type !== TYPE.settings || it.flags !== 0)) {
      return 'the first frame is not SETTINGS';
    }
    if (this.#headers.isInsideBlock && it.type !== TYPE.continuation) return 'a cut header block';
    switch (it.type) {
      case TYPE.settings:
        return this.#takeSettings(it);
      case TYPE.ping:
        return this.#takePing(it);
      case TYPE.windowUpdate:
        return this.windows.credited(it.stream, it.payload.readUInt32BE(0));
      case TYPE.headers:
      case TYPE.continuation:
        return this.#takeHeaders(it);
      case TYPE.data:
        return this.#takeData(it);
      case TYPE.reset: {
        const call = this.windows.calls.get(it.stream);
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
      if (id === INITIAL_WINDOW) this.windows.setSend(value);
    }
    this.write(frame(TYPE.settings, ACK, 0));
    return undefined;
  }

  #takeAcknowledgement(): string | undefined {
    const sent = this.#settings.shift();
    if (sent === undefined) return 'an acknowledgement of no settings';
    const { window, tableSize } = sent;
    if (window !== undefined && !this.#settings.some((later) => later.window !== undefined)) {
      this.windows.setReceive(window);
    }
    if (tableSize !== undefined) this.#headers.resize(tableSize);
    return undefined;
  }

  #takePing({ flags, payload }: ReceivedFrame): string | undefined {
    if (flags !== ACK) this.write(frame(TYPE.ping, ACK, 0, payload));
    else if (!this.#pings.shift()?.equals(payload)) return 'an answer to no ping';
    return undefined;
  }

  #takeHeaders(it: ReceivedFrame): string | undefined {
    const block = this.#headers.take(it);
    if (block === undefined || typeof block === 'string') return block;
    const call = this.windows.calls.get(block.stream);
    if (call === undefined) return 'an answer to no call';
    return named(call, call.takeHeaders(block.fields, block.ends));
  }

  #takeData({ flags, stream, payload }: ReceivedFrame): string | undefined {
    const call = this.windows.calls.get(stream);
    if (call === undefined) return 'data of no call';
    const overrun = this.windows.received(call, payload.length);
    if (overrun !== undefined) return named(call, overrun);
    return named(call, call.takeData(payload, (flags & END_STREAM) !== 0));
  }
}

const named = ({ expected }: ReceivedCall, mistake: string | undefined) =>
  mistake && `${mistake} for "${expected.label}"`;
