/** One connection: its socket, what is read from it and what is written to it, and how it ends. */
import type { Socket } from 'node:net';
import { Departure } from './departure.ts';
import { FrameReader } from './frame-reader.ts';
import { ConnectionError, ErrorCode } from './frames.ts';
import { CompressionError } from './hpack/block-reader.ts';
import {
  CLOSE_ABOVE_BYTES,
  CONNECTION_WINDOW,
  LINGER_MS,
  PAUSE_ABOVE_BYTES,
  STREAM_WINDOW,
} from './limits.ts';
import { Outbox } from './outbox.ts';
import { ReceiveWindow } from './receive-window.ts';
import { Receiver } from './receiver.ts';
import { type OnRequest, Requests } from './requests.ts';
import { Sender } from './sender.ts';
import { OWN_SETTINGS } from './settings.ts';
import { Streams } from './streams.ts';
import type { Writes } from './writes.ts';

/** If the work throws, it closes the connection, and throws nothing. */
export interface Guard {
  /** Calls into Node for the connection. */
  enter(work: () => void): void;
  /** Does the server's own work for the connection. */
  leave(work: () => void): void;
}

export interface ConnectionOptions {
  readonly guard: Guard;
  readonly writes: Writes;
  readonly onRequest: OnRequest;
  readonly onClosed: (connection: Connection) => void;
}

const PING = Buffer.from('present?');
const NO_BYTES: Buffer = Buffer.alloc(0);

export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #outbox = new Outbox();
  readonly #sender = new Sender(this.#outbox);
  readonly #window = new ReceiveWindow(this.#sender);
  readonly #streams: Streams;
  readonly #reader: FrameReader;
  readonly #receiver: Receiver;
  readonly #departure: Departure;
  #chunk = NO_BYTES;
  /** Nothing is answered any more. */
  #isOver = false;
  #awaitsPong = false;
  #completedAtSweep = -1;

  constructor(socket: Socket, options: ConnectionOptions) {
    const [sender, onDone] = [this.#sender, () => this.#finish()];
    const writeSoon = () => options.writes.soon(this);
    this.#socket = socket;
    this.#options = options;
    this.#streams = new Streams(sender, {
      onAnswer: writeSoon,
      onNone: () => this.#departure.onNone(),
    });
    const streams = this.#streams;
    const requests = new Requests(streams, this.#window, options.onRequest);
    this.#departure = new Departure({ streams, sender, requests, onGoaway: writeSoon, onDone });
    const onPong = (payload: Buffer) => this.#pong(payload);
    this.#receiver = new Receiver({ streams, sender, requests, onPong });
    this.#reader = new FrameReader((frame) => this.#receiver.frame(frame));
    sender.settings(OWN_SETTINGS, 0);
    // A peer begins with the window that streams have.
    sender.credit(0, CONNECTION_WINDOW - STREAM_WINDOW);
    this.#listen();
    writeSoon();
  }

  #listen(): void {
    const socket = this.#socket;
    const { guard } = this.#options;
    socket.on('data', (chunk: Buffer) => {
      this.#chunk = chunk;
      guard.leave(this.#receive);
    });
    socket.on('drain', () => socket.resume());
    // The peer reads no answers either, once it has ended.
    socket.on('end', () => socket.destroy());
    // `close` follows.
    socket.on('error', () => {});
    socket.on('close', () => guard.leave(this.#close));
    // A socket from another process is paused.
    socket.resume();
  }

  readonly #receive = (): void => {
    const chunk = this.#chunk;
    this.#chunk = NO_BYTES;
    if (this.#isOver) return;
    try {
      this.#reader.add(chunk);
    } catch (error) {
      if (error instanceof ConnectionError) this.#fail(error.code);
      else if (error instanceof CompressionError) this.#fail(ErrorCode.compression);
      else throw error;
      return;
    }
    if (!this.#outbox.isEmpty || this.#window.isDue) this.#options.writes.atEndOfTurn(this);
  };

  flush(): void {
    if (!this.#isOver) this.#window.credit();
    if (!this.#outbox.isEmpty) this.#options.guard.enter(this.#write);
  }

  readonly #write = (): void => {
    const socket = this.#socket;
    const bytes = this.#outbox.take();
    if (socket.destroyed || socket.writableEnded) return;
    socket.write(bytes);
    const backlog = socket.writableLength;
    if (backlog + this.#sender.queuedBytes > CLOSE_ABOVE_BYTES) socket.destroy();
    else if (backlog > PAUSE_ABOVE_BYTES && !this.#isOver) socket.pause();
  };

  /** Closes it if the last ping was not answered. */
  closeIfSilent(): void {
    if (this.#awaitsPong) this.#options.guard.enter(() => this.#socket.destroy());
  }

  ping(): void {
    if (this.#isOver) return;
    this.#awaitsPong = true;
    this.#sender.ping(PING, 0);
    this.#options.writes.soon(this);
  }

  /** Closes it if a frame or a header block is still unfinished since the last sweep, and resets unfinished requests. */
  sweep(): void {
    if (this.#isOver) return;
    const isInside = this.#reader.isInsideFrame || this.#receiver.isInsideBlock;
    const completed = isInside ? this.#receiver.completed : -1;
    if (isInside && completed === this.#completedAtSweep) {
      this.#options.guard.enter(() => this.#socket.destroy());
      return;
    }
    this.#completedAtSweep = completed;
    this.#streams.sweep();
  }

  /** Makes the peer send new requests elsewhere, and closes the connection when its streams have ended. */
  depart(): void {
    const { guard } = this.#options;
    if (!this.#isOver) this.#departure.begin((work) => guard.leave(work));
  }

  #pong(payload: Buffer): void {
    if (payload.equals(PING)) this.#awaitsPong = false;
    else this.#departure.onPong(payload);
  }

  /** Section 5.4.1. */
  #fail(code: number): void {
    this.#sender.goaway(this.#streams.lastId, code);
    this.#finish();
    this.#options.guard.enter(() => this.#destroyLater());
  }

  /**
   * Sends what waits, and the end. What the peer still sends is read and dropped, because the close of a connection with
   * unread bytes is a reset, which can overtake the last bytes.
   */
  #finish(): void {
    if (this.#isOver) return;
    this.#over();
    this.flush();
    this.#options.guard.enter(() => {
      this.#socket.resume();
      this.#socket.end(() => this.#destroyLater());
    });
  }

  #destroyLater(): void {
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  #over(): void {
    this.#isOver = true;
    this.#reader.stop();
    this.#departure.stop();
    this.#streams.closeAll();
  }

  readonly #close = (): void => {
    this.#over();
    this.#options.onClosed(this);
  };
}
