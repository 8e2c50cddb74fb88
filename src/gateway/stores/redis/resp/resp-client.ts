/**
 * The connection to a single Redis over which requests are counted. It does for a command what ioredis does with the
 * options of ../client.ts, without objects and promises for each one: a command fails at once without a connection, and
 * is never sent twice.
 */
import { EventEmitter } from 'node:events';
import type { RedisClient, RedisClientOptions } from '../client.ts';
import { retryAfter, silenceMs, tlsOptions } from '../connecting.ts';
import {
  type Caller,
  type CountingConnection,
  overIoredis,
  type Words,
} from '../counting-connection.ts';
import { isUnknownDatabase, storeErrorFrom } from '../failures.ts';
import { NOT_CONNECTED, RespConnection, type RespConnectionOptions } from './connection.ts';
import { shakeHands } from './handshake.ts';

interface CountingConnectionOptions extends RedisClientOptions {
  /** The client for everything else. */
  readonly client: RedisClient;
}

/** Whoever calls this disconnects it. `onError` is not called for a connection of the client: that has its own. */
export function openCountingConnection(options: CountingConnectionOptions): CountingConnection {
  const { target, client } = options;
  if (target.kind !== 'single') return overIoredis(client);
  return new RespClient({ ...options, onReplica: () => client.disconnect(true) });
}

interface RespClientOptions extends RedisClientOptions {
  /** The server has become a replica. This client reconnects. */
  readonly onReplica?: () => void;
}

export class RespClient extends EventEmitter<{ ready: []; end: [] }> implements CountingConnection {
  readonly #options: RespClientOptions;
  readonly #connection: RespConnectionOptions;
  #latest: RespConnection | undefined;
  /** The latest connection whose handshake is done. It may have closed since. */
  #ready: RespConnection | undefined;
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
    if (this.#ready?.isOpen) return 'ready';
    return this.#isWanted ? 'connecting' : 'end';
  }

  send(words: Words, caller: Caller): void {
    if (this.#ready === undefined) caller.onError(NOT_CONNECTED);
    else this.#ready.send(words, caller);
  }

  disconnect(reconnect = false): void {
    this.#isWanted &&= reconnect;
    this.#latest?.leave();
    if (!this.#isWanted) clearTimeout(this.#retry);
  }

  #connect(): void {
    try {
      const connection = new RespConnection(this.#connection, {
        onOpen: () => void this.#shakeHands(connection),
        onRefusal: (error) => this.#leaveReplica(error),
        onClose: (error) => this.#closed(error),
      });
      this.#latest = connection;
    } catch (error) {
      this.#closed(error as Error);
    }
  }

  async #shakeHands(connection: RespConnection): Promise<void> {
    const { target, onError } = this.#options;
    try {
      await shakeHands(connection, target, (error) => {
        onError(error);
        // No later attempt finds more databases.
        if (isUnknownDatabase(error)) this.disconnect();
      });
    } catch (error) {
      connection.fail(error as Error);
      return;
    }
    if (!connection.isOpen) return;
    this.#ready = connection;
    this.#attempts = 0;
    this.emit('ready');
  }

  #closed(error: Error | undefined): void {
    if (error !== undefined) this.#options.onError(error);
    if (this.#isWanted)
      this.#retry = setTimeout(() => this.#connect(), retryAfter(++this.#attempts));
    else this.emit('end');
  }

  /** After a failover the old master answers as a replica. */
  #leaveReplica(error: Error): void {
    if (storeErrorFrom(error).reason !== 'readonly' || this.status !== 'ready') return;
    this.disconnect(true);
    this.#options.onReplica?.();
  }
}
