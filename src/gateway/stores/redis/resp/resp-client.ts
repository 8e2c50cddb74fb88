/**
 * The connection to a single Redis over which requests are counted. It does for a script call what ioredis does with the
 * options of ../client.ts, without objects and promises for each call: a call fails at once without a connection, and is
 * never sent twice.
 */
import { EventEmitter } from 'node:events';
import type { RedisTarget } from '../../../config/settings/redis-url.ts';
import { StoreError } from '../../../core/counting/store.ts';
import { retryAfter, silenceMs, tlsOptions } from '../connecting.ts';
import type { CountingConnection, TakeCall } from '../counting-connection.ts';
import { isNoScript, isUnknownDatabase, storeErrorFrom } from '../failures.ts';
import { command, takeCommand } from './command.ts';
import { type Caller, RespConnection, type RespConnectionOptions } from './connection.ts';
import { shakeHands } from './handshake.ts';

// Created once: creating an error with its stack costs more than taking a request.
const NOT_CONNECTED = new StoreError('connection', 'not connected');

export interface RespClientOptions {
  readonly target: RedisTarget;
  readonly deadlineMs: number;
  /** A connection or its handshake failed. */
  readonly onError: (error: Error) => void;
  /** The server has become a replica. This client reconnects. */
  readonly onReplica?: () => void;
}

export class RespClient extends EventEmitter<{ ready: []; end: [] }> implements CountingConnection {
  readonly #options: RespClientOptions;
  readonly #connection: RespConnectionOptions;
  #current: RespConnection | undefined;
  #isReady = false;
  #isWanted = true;
  #attempts = 0;
  #retry: NodeJS.Timeout | undefined;

  /** Throws a FileError if a file of the certificates cannot be read. */
  constructor(options: RespClientOptions) {
    super();
    this.#options = options;
    const { target, deadlineMs } = options;
    this.#connection = {
      address: target.addresses[0],
      tls: target.tls ? tlsOptions(target) : undefined,
      silenceMs: silenceMs(deadlineMs),
    };
    this.#connect();
  }

  get status(): 'ready' | 'connecting' | 'end' {
    if (this.#isReady && this.#current?.isOpen) return 'ready';
    return this.#isWanted ? 'connecting' : 'end';
  }

  take({ call, clocks, onReply, onError }: TakeCall): void {
    const sent = takeCommand(call, clocks);
    const refused = (error: Error) => {
      // A server that does not know the script has not run it, so sending it again does not count twice.
      if (isNoScript(error)) this.#send(sent.whole(), sent.encoding, { onReply, onError });
      else onError(error);
    };
    this.#send(sent.known, sent.encoding, { onReply, onError: refused });
  }

  ping(): Promise<unknown> {
    return this.#call(['ping']);
  }

  eval(
    script: string,
    keyCount: number,
    ...keysAndValues: readonly (string | number)[]
  ): Promise<unknown> {
    return this.#call(['eval', script, keyCount, ...keysAndValues]);
  }

  del(key: string): Promise<unknown> {
    return this.#call(['del', key]);
  }

  publish(channel: string, message: string): Promise<unknown> {
    return this.#call(['publish', channel, message]);
  }

  disconnect(reconnect = false): void {
    this.#isWanted &&= reconnect;
    this.#isReady = false;
    this.#current?.leave();
    if (this.#isWanted || this.#current !== undefined) return;
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  #connect(): void {
    try {
      const connection = new RespConnection(this.#connection, {
        onOpen: () => void this.#shakeHands(connection),
        onClose: (error) => this.#closed(error),
      });
      this.#current = connection;
    } catch (error) {
      this.#closed(error as Error);
    }
  }

  async #shakeHands(connection: RespConnection): Promise<void> {
    const { target, onError } = this.#options;
    const call = (words: readonly (string | number)[]) => promisedBy(connection, words);
    try {
      await shakeHands(call, target, (error) => {
        onError(error);
        // No later attempt finds more databases.
        if (isUnknownDatabase(error)) this.disconnect();
      });
    } catch (error) {
      connection.fail(error as Error);
      return;
    }
    if (!connection.isOpen) return;
    this.#isReady = true;
    this.#attempts = 0;
    this.emit('ready');
  }

  #closed(error: Error | undefined): void {
    this.#current = undefined;
    this.#isReady = false;
    if (error !== undefined) this.#options.onError(error);
    if (this.#isWanted)
      this.#retry = setTimeout(() => this.#connect(), retryAfter(++this.#attempts));
    else this.emit('end');
  }

  #send(text: string, encoding: 'latin1' | 'utf8', caller: Caller): void {
    const connection = this.#current;
    if (!this.#isReady || !connection?.isOpen) {
      caller.onError(NOT_CONNECTED);
      return;
    }
    connection.send(text, encoding, {
      onReply: caller.onReply,
      onError: (error) => {
        if (storeErrorFrom(error).reason === 'readonly') this.#leaveReplica(connection);
        caller.onError(error);
      },
    });
  }

  /** After a failover the old master answers as a replica. */
  #leaveReplica(connection: RespConnection): void {
    if (!connection.isOpen) return;
    this.disconnect(true);
    this.#options.onReplica?.();
  }

  /** Resolves to the reply, with its strings as text. */
  #call(words: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const onReply = (reply: unknown) => resolve(textOf(reply));
      this.#send(command(words), 'utf8', { onReply, onError: reject });
    });
  }
}

function promisedBy(connection: RespConnection, words: readonly (string | number)[]) {
  return new Promise<unknown>((resolve, reject) => {
    if (connection.isOpen)
      connection.send(command(words), 'utf8', { onReply: resolve, onError: reject });
    else reject(NOT_CONNECTED);
  });
}

function textOf(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(textOf);
  return Buffer.isBuffer(reply) ? reply.toString() : reply;
}
