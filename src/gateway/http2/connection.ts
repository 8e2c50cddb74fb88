/**
 * One connection: its socket, what is read from it and what is written to it, and how it ends.
 *
 * It departs without losing a request (https://www.rfc-editor.org/rfc/rfc9113#section-6.8). The first GOAWAY makes the peer
 * send new requests elsewhere. Those that it sent before it read that are on their way, so the second GOAWAY says only after
 * a round trip which ones are answered.
 */
import type { Socket } from 'node:net';
import { FrameReader } from './frame-reader.ts';
import { ConnectionError, ErrorCode, FrameType, frameOf, MAX_31_BITS } from './frames.ts';
import {
  CLOSE_ABOVE_BYTES,
  CONNECTION_WINDOW,
  LINGER_MS,
  NOTICE_MS,
  PAUSE_ABOVE_BYTES,
  STREAM_WINDOW,
} from './limits.ts';
import { Outbox } from './outbox.ts';
import { ReceiveWindow } from './receive-window.ts';
import { Receiver } from './receiver.ts';
import { type OnRequest, Requests } from './requests.ts';
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

/** The data of pings, by what they are sent for. */
const PRESENCE = Buffer.from('present?');
const DEPARTURE = Buffer.from('leaving.');
const NO_BYTES: Buffer = Buffer.alloc(0);

export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #outbox = new Outbox();
  readonly #window = new ReceiveWindow(this.#outbox);
  readonly #streams = new Streams(this.#outbox, {
    onAnswer: () => this.#writeSoon(),
    onNone: () => this.#endIfDone(),
  });
  readonly #requests: Requests;
  readonly #receiver: Receiver;
  readonly #reader = new FrameReader((frame) => this.#receiver.frame(frame));
  #chunk = NO_BYTES;
  /** Nothing is answered any more. */
  #isOver = false;
  #awaitsPong = false;
  #completedAtSweep = -1;
  #departure: 'none' | 'announced' | 'settled' = 'none';
  #notice: NodeJS.Timeout | undefined;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#requests = new Requests(this.#streams, this.#window, options.onRequest);
    this.#receiver = new Receiver(this.#streams, this.#requests, (payload) => this.#pong(payload));
    this.#outbox.addFrame(frameOf(FrameType.settings, 0, OWN_SETTINGS));
    // A peer begins with the window that streams have.
    this.#outbox.addNumbers(FrameType.windowUpdate, 0, CONNECTION_WINDOW - STREAM_WINDOW);
    this.#listen();
    this.#writeSoon();
  }

  #listen(): void {
    const socket = this.#socket;
    const { guard, onClosed } = this.#options;
    socket.on('data', (chunk: Buffer) => {
      this.#chunk = chunk;
      guard.leave(this.#receive);
    });
    socket.on('drain', () => socket.resume());
    // The peer reads no answers either, once it has ended.
    socket.on('end', () => socket.destroy());
    // `close` follows.
    socket.on('error', () => {});
    socket.on('close', () =>
      guard.leave(() => {
        this.#over();
        onClosed(this);
      }),
    );
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
      if (!(error instanceof ConnectionError)) throw error;
      this.#fail(error.code);
      return;
    }
    if (!this.#outbox.isEmpty || this.#window.isDue) this.#options.writes.atEndOfTurn(this);
  };

  #writeSoon(): void {
    this.#options.writes.soon(this);
  }

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
    if (backlog + this.#streams.queuedBytes > CLOSE_ABOVE_BYTES) socket.destroy();
    else if (backlog > PAUSE_ABOVE_BYTES && !this.#isOver) socket.pause();
  };

  /**
   * Closes it if a ping, a frame or a header block is still unfinished since the last sweep, and resets unfinished requests.
   */
  sweep(): void {
    if (this.#isOver) return;
    const isInside = this.#reader.isInsideFrame || this.#requests.isInsideBlock;
    const completed = isInside ? this.#receiver.completed : -1;
    if (this.#awaitsPong || (isInside && completed === this.#completedAtSweep)) {
      this.#options.guard.enter(() => this.#socket.destroy());
      return;
    }
    this.#completedAtSweep = completed;
    this.#streams.sweep();
  }

  /** The answer must arrive before the next sweep. */
  ping(): void {
    if (this.#isOver) return;
    this.#awaitsPong = true;
    this.#outbox.addFrame(frameOf(FrameType.ping, 0, PRESENCE));
    this.#writeSoon();
  }

  #pong(payload: Buffer): void {
    if (payload.equals(PRESENCE)) this.#awaitsPong = false;
    else if (payload.equals(DEPARTURE)) this.#settle();
  }

  /** Makes the peer send new requests elsewhere, and closes the connection when its streams have ended. */
  depart(): void {
    if (this.#isOver || this.#departure !== 'none') return;
    this.#departure = 'announced';
    this.#outbox.addNumbers(FrameType.goaway, 0, MAX_31_BITS, ErrorCode.none);
    this.#outbox.addFrame(frameOf(FrameType.ping, 0, DEPARTURE));
    this.#notice = setTimeout(() => this.#options.guard.leave(() => this.#settle()), NOTICE_MS);
    this.#writeSoon();
  }

  #settle(): void {
    if (this.#departure !== 'announced') return;
    this.#departure = 'settled';
    clearTimeout(this.#notice);
    this.#streams.finalId = this.#streams.lastId;
    this.#outbox.addNumbers(FrameType.goaway, 0, this.#streams.lastId, ErrorCode.none);
    this.#writeSoon();
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#departure === 'settled' && this.#streams.open.size === 0) this.#finish();
  }

  /** Section 5.4.1. */
  #fail(code: number): void {
    this.#outbox.addNumbers(FrameType.goaway, 0, this.#streams.lastId, code);
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
    clearTimeout(this.#notice);
    this.#streams.closeAll();
  }
}
