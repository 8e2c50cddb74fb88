import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { HEAD_BYTES, UNCOMPRESSED } from '../../protobuf/frames.ts';
import { framed } from '../../protobuf/writer.ts';
import type { PeerStream } from './peer-stream.ts';
import {
  type GrpcStatus,
  MALFORMED,
  NOT_ONE_MESSAGE,
  TOO_LONG,
  UNKNOWN_ENCODING,
} from './status.ts';

/**
 * In bytes. If a check is refused, a proxy that fails open lets the request through. So this is above what a client can
 * make Envoy send: 60 KiB of headers, with a path that Envoy sends twice and three times as long (`"` as %22).
 */
const MAX_MESSAGE_BYTES = 512 * 1024;

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
const OK: OutgoingHttpHeaders = { 'grpc-status': '0' };

interface IncomingRequest {
  readonly frame: MessageFrame;
  readonly encoding: string | undefined;
  readonly onMessage: (message: Buffer) => void;
}

/** A message that is sent is a string with one character for each byte. */
export class GrpcCall {
  readonly #stream: PeerStream;
  /**
   * Undefined as soon as it is read: closed streams of Node stay in memory until the next major garbage collection, with
   * all that they refer to.
   */
  #request: IncomingRequest | undefined;
  #trailers = OK;

  constructor(stream: PeerStream) {
    this.#stream = stream;
  }

  get isGone(): boolean {
    return this.#stream.isGone;
  }

  /** Answers a request that is not one message with an error. */
  read(headers: IncomingHttpHeaders, onMessage: (message: Buffer) => void): void {
    this.#request = {
      frame: new MessageFrame(MAX_MESSAGE_BYTES),
      encoding: headers['grpc-encoding']?.toString(),
      onMessage,
    };
    this.#stream.onData((chunk) => this.#add(chunk));
    this.#stream.onEnd(() => this.#end());
  }

  #add(chunk: Buffer): void {
    const mistake = this.#request?.frame.add(chunk);
    if (mistake === undefined) return;
    this.#request = undefined;
    this.fail(mistake);
  }

  #end(): void {
    const request = this.#request;
    this.#request = undefined;
    if (request === undefined || this.isGone) return;
    const hand = (result: Buffer | GrpcStatus) => {
      if (Buffer.isBuffer(result)) request.onMessage(result);
      else this.fail(result);
    };
    const result = request.frame.message(request.encoding);
    if (result instanceof Promise) void result.then(hand);
    else hand(result);
  }

  answer(message: string): void {
    this.#respond();
    this.#stream.end(framed(message));
  }

  write(message: string): void {
    if (!this.#stream.hasAnswered) this.#respond();
    this.#stream.write(framed(message));
  }

  end(status: GrpcStatus): void {
    this.#trailers = trailersOf(status);
    this.#stream.end();
  }

  onClosed(listener: () => void): void {
    this.#stream.onClosed(listener);
  }

  fail(status: GrpcStatus): void {
    if (!this.#stream.hasAnswered) this.#stream.refuse({ ...HEADERS, ...trailersOf(status) });
  }

  #respond(): void {
    this.#stream.respond(HEADERS, () => this.#trailers);
  }
}

function trailersOf({ code, message }: GrpcStatus): OutgoingHttpHeaders {
  return { 'grpc-status': String(code), 'grpc-message': message };
}

const COMPRESSED = 1;
const NO_BYTES = Buffer.alloc(0);
const unpackers = new Map([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
]);

/** Collects the bytes of a request, which must be one message. */
export class MessageFrame {
  readonly #maxBytes: number;
  #buffer: Buffer = NO_BYTES;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns what is wrong with the bytes so far. No further bytes may be added then. */
  add(chunk: Buffer): GrpcStatus | undefined {
    if (this.#length === 0) this.#buffer = chunk;
    else this.#append(chunk);
    this.#length += chunk.length;
    if (this.#length < HEAD_BYTES) return undefined;
    const announced = this.#buffer.readUInt32BE(1);
    if (announced > this.#maxBytes) return TOO_LONG;
    return this.#length > HEAD_BYTES + announced ? NOT_ONE_MESSAGE : undefined;
  }

  message(encoding: string | undefined): Buffer | GrpcStatus | Promise<Buffer | GrpcStatus> {
    const bytes = this.#buffer.subarray(0, this.#length);
    if (bytes.length < HEAD_BYTES) return NOT_ONE_MESSAGE;
    if (bytes.length !== HEAD_BYTES + bytes.readUInt32BE(1)) return NOT_ONE_MESSAGE;
    const message = bytes.subarray(HEAD_BYTES);
    if (bytes[0] === UNCOMPRESSED) return message;
    return bytes[0] === COMPRESSED ? this.#unpack(message, encoding) : MALFORMED;
  }

  /** Doubles the buffer if it is full, so that single bytes cost no more than long chunks. */
  #append(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(2 * needed);
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
  }

  async #unpack(message: Buffer, encoding = 'identity'): Promise<Buffer | GrpcStatus> {
    const unpack = unpackers.get(encoding);
    if (unpack === undefined) return encoding === 'identity' ? MALFORMED : UNKNOWN_ENCODING;
    try {
      return await unpack(message, { maxOutputLength: this.#maxBytes });
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
        ? TOO_LONG
        : MALFORMED;
    }
  }
}
