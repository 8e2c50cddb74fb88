/** Calls on which a caller sends one message after the other, for as long as it likes, such as access logs. */
import type { Http2Stream, StreamListener } from '../../http2/stream.ts';
import { FrameReader, RefusedFrame } from '../../protobuf/frames.ts';
import { framed } from '../../protobuf/writer.ts';
import { HEAD, MAX_MESSAGE_BYTES, OK, refuseCall, trailersOf } from './grpc-call.ts';
import {
  type GrpcStatus,
  NOT_ONE_MESSAGE,
  REFUSED_MESSAGE,
  STOPPING,
  statusOfError,
  TOO_MANY_STREAMS,
} from './status.ts';

/** Each worker thread of Envoy has a connection, and a stream for each of its access logs. */
const MAX_STREAMS_PER_CONNECTION = 64;

/** Handles one message. Throws MalformedMessage. */
export type TakeMessage = (message: Buffer) => void;

/** All of a server. */
export class ClientStreams {
  readonly #open = new Set<ClientStream>();
  #isClosing = false;

  /** `ofConnection`: the streams of the same connection. */
  open(stream: Http2Stream, take: TakeMessage, ofConnection: Set<ClientStream>): void {
    if (ofConnection.size >= MAX_STREAMS_PER_CONNECTION) {
      refuseCall(stream, TOO_MANY_STREAMS);
      return;
    }
    const opened = new ClientStream(stream, take, () => {
      ofConnection.delete(opened);
      this.#open.delete(opened);
    });
    ofConnection.add(opened);
    this.#open.add(opened);
    stream.listener = opened;
    if (this.#isClosing) opened.stop();
  }

  /** Makes callers open new streams elsewhere. What they have sent on these is still handled. */
  close(): void {
    this.#isClosing = true;
    for (const each of this.#open) each.stop();
  }
}

/** Its messages may not be compressed, and the answer is a message without fields. */
export class ClientStream implements StreamListener {
  readonly #stream: Http2Stream;
  readonly #take: TakeMessage;
  readonly #onDone: () => void;
  readonly #frames = new FrameReader(MAX_MESSAGE_BYTES);
  /** Nothing is read any more. */
  #isOver = false;

  constructor(stream: Http2Stream, take: TakeMessage, onDone: () => void) {
    this.#stream = stream;
    this.#take = take;
    this.#onDone = onDone;
  }

  onData(chunk: Buffer, isLast: boolean): void {
    if (this.#isOver) return;
    let isProgress = this.#frames.heldBytes === 0;
    try {
      for (const message of this.#frames.add(chunk)) {
        isProgress = true;
        this.#take(message);
      }
    } catch (error) {
      this.#fail(error instanceof RefusedFrame ? REFUSED_MESSAGE : statusOfError(error));
      return;
    }
    if (isLast) this.#end();
    else if (isProgress) this.#stream.keep(this.#frames.heldBytes);
  }

  onClosed(): void {
    this.#isOver = true;
    this.#onDone();
  }

  stop(): void {
    this.#stream.respond(HEAD);
    this.#stream.endBeforeRequest(trailersOf(STOPPING));
  }

  #end(): void {
    if (this.#frames.heldBytes > 0) {
      this.#fail(NOT_ONE_MESSAGE);
      return;
    }
    this.#stream.respond(HEAD);
    this.#stream.write(framed(''));
    this.#stream.end(OK);
  }

  #fail(status: GrpcStatus): void {
    this.#isOver = true;
    refuseCall(this.#stream, status);
  }
}
