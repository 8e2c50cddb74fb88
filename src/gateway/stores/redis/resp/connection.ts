/** One connection to Redis, from connecting until it is closed. Replies come in the order of the commands. */
import { createConnection, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { RedisAddress } from '../../../config/settings/redis-url.ts';
import { StoreError } from '../../../core/counting/store.ts';
import { CONNECT_TIMEOUT_MS, KEEP_ALIVE_MS, LEAVE_WITHIN_MS } from '../connecting.ts';
import type { Caller, Sender, Words } from '../counting-connection.ts';
import { commandOf } from './command.ts';
import { ReplyDecoder } from './reply-decoder.ts';

// Created once: creating an error with its stack costs more than taking a request.
export const NOT_CONNECTED = new StoreError('connection', 'not connected');

export interface ConnectionEvents {
  onOpen(): void;
  /** A command gets this error reply next. */
  onRefusal(error: Error): void;
  /** Called once, before the waiting callers get an error. `error` is missing if a side closed without one. */
  onClose(error: Error | undefined): void;
}

export interface RespConnectionOptions {
  readonly address: RedisAddress;
  readonly tls: ConnectionOptions | undefined;
  /** The connection is closed if commands wait for so long, in milliseconds, and nothing arrives. */
  readonly silenceMs: number;
}

export class RespConnection implements Sender {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #silenceMs: number;
  readonly #decoder: ReplyDecoder;
  /** Oldest first. */
  readonly #waiting: Caller[] = [];
  #isLeaving = false;
  #isWatched = false;
  /** When the last bytes arrived, or the first of the waiting commands was sent. */
  #heardMs = 0;
  #error: Error | undefined;

  /** Throws what node:tls throws of files that are no certificates. */
  constructor({ address, tls, silenceMs }: RespConnectionOptions, events: ConnectionEvents) {
    this.#events = events;
    this.#silenceMs = silenceMs;
    this.#decoder = new ReplyDecoder({
      onReply: (reply) => this.#next().onReply(reply),
      onErrorReply: (error) => {
        const caller = this.#next();
        events.onRefusal(error);
        caller.onError(error);
      },
      // Nothing is subscribed here.
      onPush: () => {},
    });
    const { host, port, path } = address;
    const place = path === undefined ? { host, port } : { path };
    this.#socket = tls === undefined ? createConnection(place) : connectTls({ ...place, ...tls });
    this.#socket
      .setTimeout(CONNECT_TIMEOUT_MS, () => this.fail(connectTimeout()))
      .once(tls === undefined ? 'connect' : 'secureConnect', () => this.#opened())
      .on('data', (chunk) => this.#read(chunk))
      .on('error', (error) => this.fail(error))
      .once('close', () => this.#closed());
  }

  /** Whether a command can be sent. */
  get isOpen(): boolean {
    return !this.#isLeaving && this.#socket.writable;
  }

  send(words: Words, caller: Caller): void {
    if (!this.isOpen) {
      caller.onError(NOT_CONNECTED);
      return;
    }
    const { text, encoding } = commandOf(words);
    if (this.#waiting.length === 0) this.#heardMs = performance.now();
    this.#waiting.push(caller);
    this.#socket.write(text, encoding);
    if (!this.#isWatched) this.#watchFor(this.#silenceMs);
  }

  /** Sends no further command. Replies that arrive before the server closes its end are still read. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#socket.end();
    const timer = setTimeout(() => this.#socket.destroy(), LEAVE_WITHIN_MS);
    this.#socket.once('close', () => clearTimeout(timer));
  }

  /** Closes the connection at once. What arrives later on it is not read. */
  fail(error: Error): void {
    // After the first error, or on a connection that ends anyway, an error is a consequence.
    if (!this.#isLeaving) this.#error = error;
    this.#isLeaving = true;
    this.#socket.destroy();
  }

  #opened(): void {
    this.#socket.setTimeout(0).setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    this.#events.onOpen();
  }

  #read(chunk: Buffer): void {
    this.#heardMs = performance.now();
    try {
      this.#decoder.write(chunk);
    } catch (cause) {
      this.fail(new StoreError('malformed', (cause as Error).message, { cause }));
    }
  }

  /** Throws if a reply came that no command asked for: later replies might be taken for those of other commands. */
  #next(): Caller {
    const caller = this.#waiting.shift();
    if (caller === undefined) throw new SyntaxError('Redis sent a reply without a command');
    return caller;
  }

  /** One timer watches all commands, and runs only while some wait. */
  #watchFor(ms: number): void {
    this.#isWatched = true;
    // If this process itself was late, the reply may have arrived but is read only after the timers.
    setTimeout(() => setImmediate(() => this.#checkSilence()), ms).unref();
  }

  #checkSilence(): void {
    this.#isWatched = false;
    if (this.#waiting.length === 0) return;
    const leftMs = this.#heardMs + this.#silenceMs - performance.now();
    if (leftMs > 0) this.#watchFor(Math.ceil(leftMs));
    else this.fail(new StoreError('timeout', `Redis sent nothing for ${this.#silenceMs} ms`));
  }

  #closed(): void {
    this.#isLeaving = true;
    const found = this.#error;
    this.#events.onClose(found);
    const isMalformed = found instanceof StoreError && found.reason === 'malformed';
    const error = isMalformed ? found : closedError();
    for (const caller of this.#waiting.splice(0)) caller.onError(error);
  }
}

function closedError(): StoreError {
  return new StoreError('connection', 'the connection to Redis was closed');
}

function connectTimeout(): Error {
  return Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT', syscall: 'connect' });
}
