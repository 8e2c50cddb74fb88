import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { framed } from '../../protobuf/frames.ts';
import { MessageFrame } from './message-frame.ts';
import type { PeerStream } from './peer-stream.ts';
import type { GrpcStatus } from './status.ts';

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
