import { type HeaderBlock, headerBlock } from '../../http2/header-block.ts';
import type { Http2Stream, StreamListener } from '../../http2/stream.ts';
import { framed } from '../../protobuf/writer.ts';
import { MessageFrame } from './message-frame.ts';
import { type GrpcStatus, statusOfError } from './status.ts';

/**
 * In bytes. If a check is refused, a proxy that fails open lets the request through. So this is above what a client can
 * make Envoy send: 60 KiB of headers, with a path that Envoy sends twice and three times as long (`"` as %22).
 */
export const MAX_MESSAGE_BYTES = 512 * 1024;

const HEADERS: [string, string][] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];
export const HEAD = headerBlock(HEADERS);
export const OK = headerBlock([['grpc-status', '0']]);

/** Answers one call. Throws MalformedMessage. */
export type Method = (call: GrpcCall, message: Buffer) => void;

/** A message that is sent is a string with one character for each byte. */
export class GrpcCall implements StreamListener {
  readonly #stream: Http2Stream;
  readonly #method: Method;
  /** Of the caller. */
  readonly address: string;
  #frame: MessageFrame | undefined = new MessageFrame(MAX_MESSAGE_BYTES);
  #onClosed: (() => void) | undefined;

  /** Answers a request that is not one message with an error. */
  constructor(stream: Http2Stream, address: string, method: Method) {
    this.#stream = stream;
    this.address = address;
    this.#method = method;
  }

  get isGone(): boolean {
    return this.#stream.isGone;
  }

  get headers(): Http2Stream['headers'] {
    return this.#stream.headers;
  }

  onData(chunk: Buffer, isLast: boolean): void {
    const frame = this.#frame;
    if (frame === undefined) return;
    const mistake = frame.add(chunk, isLast);
    if (mistake !== undefined) {
      this.#frame = undefined;
      this.fail(mistake);
    } else if (isLast) {
      this.#frame = undefined;
      this.#end(frame);
    }
  }

  onClosed(): void {
    this.#frame = undefined;
    this.#onClosed?.();
  }

  /** If the call is open. */
  whenClosed(listener: () => void): void {
    this.#onClosed = listener;
  }

  answer(message: string): void {
    this.write(message);
    this.#stream.end(OK);
  }

  /** Sends one of several messages. */
  write(message: string): void {
    this.#stream.respond(HEAD);
    this.#stream.write(framed(message));
  }

  end(status: GrpcStatus): void {
    this.#stream.end(trailersOf(status));
  }

  fail(status: GrpcStatus): void {
    refuseCall(this.#stream, status);
  }

  #end(frame: MessageFrame): void {
    const result = frame.message(this.headers['grpc-encoding']?.toString());
    if (result instanceof Promise) void result.then((unpacked) => this.#hand(unpacked));
    else this.#hand(result);
  }

  #hand(result: Buffer | GrpcStatus): void {
    if (this.isGone) return;
    if (!Buffer.isBuffer(result)) {
      this.fail(result);
      return;
    }
    try {
      this.#method(this, result);
    } catch (error) {
      this.fail(statusOfError(error));
    }
  }
}

/** Unless it has an answer. */
export function refuseCall(stream: Http2Stream, status: GrpcStatus): void {
  stream.refuse(refusalOf(status));
}

export const trailersOf = remembered(({ code, message }) =>
  headerBlock([
    ['grpc-status', String(code)],
    ['grpc-message', message],
  ]),
);
const refusalOf = remembered(({ code, message }) =>
  headerBlock([...HEADERS, ['grpc-status', String(code)], ['grpc-message', message]]),
);

/** Encodes each status once. */
function remembered(encode: (status: GrpcStatus) => HeaderBlock) {
  const blocks = new WeakMap<GrpcStatus, HeaderBlock>();
  return (status: GrpcStatus): HeaderBlock => {
    const known = blocks.get(status);
    if (known !== undefined) return known;
    const block = encode(status);
    blocks.set(status, block);
    return block;
  };
}
