/**
 * One connection of the gRPC load, frame by frame (RFC 9113): a client library costs more than the servers that are
 * measured.
 */
import type { Socket } from 'node:net';
import { frame, PREFACE } from '../../test/support/http2-frames.ts';
import type { IndexedHeaders } from './grpc-headers.ts';

const DATA = 0;
const HEADERS = 1;
const RESET = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const HEAD_BYTES = 9;
const INITIAL_WINDOW = 65_535;
const LARGEST_WINDOW = 0x7fff_ffff;

/** What is called, and what becomes of the answers. */
export interface Calls {
  readonly headers: IndexedHeaders;
  /** Of the next call, framed; valid until the next one. */
  readonly nextMessage: () => Buffer;
  /** `message` is the payload of the DATA frame; undefined if there was none, as with errors of gRPC. */
  readonly onAnswer: (dueMs: number, message: Buffer | undefined, on: GrpcConnection) => void;
  readonly onFailure: (why: string) => void;
}

/** A call without an answer. */
interface OpenCall {
  readonly dueMs: number;
  message: Buffer | undefined;
}

export class GrpcConnection {
  readonly #socket: Socket;
  readonly #calls: Calls;
  readonly #open = new Map<number, OpenCall>();
  /** Due times of calls that wait for the server's window. */
  readonly #waiting: number[] = [];
  #received: Buffer = Buffer.alloc(0);
  #output: Buffer[] = [];
  #nextStream = 1;
  #window = INITIAL_WINDOW;
  #onDrained = () => {};

  constructor(socket: Socket, calls: Calls) {
    this.#calls = calls;
    this.#socket = socket.setNoDelay();
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('close', () => {
      if (this.#open.size > 0) calls.onFailure('the server closed a connection');
    });
    const update = Buffer.alloc(4);
    update.writeUInt32BE(LARGEST_WINDOW - INITIAL_WINDOW);
    this.#output.push(
      Buffer.from(PREFACE),
      frame(SETTINGS, 0, 0),
      frame(WINDOW_UPDATE, 0, 0, update),
    );
  }

  /** The call is sent with `flush`, or with the other calls that follow from the answers of one read. */
  call(dueMs: number): void {
    const bytes = this.#calls.nextMessage();
    if (this.#window < bytes.length) {
      this.#waiting.push(dueMs);
      return;
    }
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#window -= bytes.length;
    const { first, later } = this.#calls.headers;
    this.#output.push(
      frame(HEADERS, END_HEADERS, stream, stream === 1 ? first : later),
      frame(DATA, END_STREAM, stream, bytes),
    );
    this.#open.set(stream, { dueMs, message: undefined });
  }

  flush(): void {
    if (this.#output.length === 0) return;
    this.#socket.write(Buffer.concat(this.#output));
    this.#output = [];
  }

  /** Resolves once every call has its answer, and ends the connection. */
  async drained(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => (this.#onDrained = resolve));
    this.#socket.destroy();
  }

  #isIdle(): boolean {
    return this.#open.size === 0 && this.#waiting.length === 0;
  }

  #read(bytes: Buffer): void {
    const received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    let at = 0;
    while (received.length >= at + HEAD_BYTES) {
      const end = at + HEAD_BYTES + received.readUIntBE(at, 3);
      if (received.length < end) break;
      const stream = received.readUInt32BE(at + 5);
      const payload = received.subarray(at + HEAD_BYTES, end);
      this.#take({ type: received[at + 3] ?? 0, flags: received[at + 4] ?? 0, stream, payload });
      at = end;
    }
    this.#received = received.subarray(at);
    this.flush();
    if (this.#isIdle()) this.#onDrained();
  }

  #take({ type, flags, stream, payload }: Frame): void {
    const call = this.#open.get(stream);
    if (type === DATA && payload.length > 0 && call !== undefined) call.message = payload;
    if ((type === DATA || type === HEADERS) && flags & END_STREAM) this.#finish(stream, call);
    else if (type === SETTINGS && !(flags & ACK)) this.#output.push(frame(SETTINGS, ACK, 0));
    else if (type === PING && !(flags & ACK)) this.#output.push(frame(PING, ACK, 0, payload));
    else if (type === WINDOW_UPDATE && stream === 0) this.#widen(payload.readUInt32BE(0));
    else if (type === GOAWAY) this.#calls.onFailure('the server sent GOAWAY');
    else if (type === RESET && call) this.#calls.onFailure('the server reset a stream');
  }

  #widen(bytes: number): void {
    this.#window += bytes;
    for (const dueMs of this.#waiting.splice(0)) this.call(dueMs);
  }

  #finish(stream: number, call: OpenCall | undefined): void {
    if (call === undefined) return;
    this.#open.delete(stream);
    this.#calls.onAnswer(call.dueMs, call.message, this);
  }
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}
