/**
 * What ioredis 6.0.0 gets wrong in ways that a gateway cannot live with. Each repair reaches for what its types keep to
 * themselves; a test in test/integration/{wire-faults,failovers}.test.ts fails when a release changes that.
 */
import { createRequire } from 'node:module';
import type { Redis } from 'ioredis';
import { ReplyDecoder } from './reply-decoder.ts';

const require = createRequire(import.meta.url);

interface ReplyHandler {
  dispatch(handle: () => void): void;
  returnFatalError(error: unknown): void;
}

interface SentinelConnector {
  connectToSentinel(...args: unknown[]): Redis;
}

/** For every client of this process. */
export function repairIoredis(): void {
  boundReplies(require('ioredis/built/resp/decoder.js'));
  surviveOddReplies(require('ioredis/built/DataHandler.js').default.prototype);
  hearSentinels(require('ioredis/built/connectors/SentinelConnector').default.prototype);
}

/** Its own decoder reserves memory for whatever a reply claims to hold, and skips bytes that it does not read. */
function boundReplies(decoding: { Decoder: unknown }): void {
  decoding.Decoder = ReplyDecoder;
}

/**
 * It throws at replies that no server should send (a null where a push names its kind), where nobody can catch it: the
 * process would end. To us that is a connection that is broken, and given up.
 */
function surviveOddReplies(handler: ReplyHandler): void {
  handler.dispatch = function dispatch(handle) {
    try {
      handle();
    } catch (error) {
      this.returnFatalError(error);
    }
  };
}

/** It prints the stack of every try to reach a sentinel that is away. That none can be reached is told otherwise. */
function hearSentinels(connector: SentinelConnector): void {
  const { connectToSentinel } = connector;
  connector.connectToSentinel = function connect(...args) {
    return connectToSentinel.apply(this, args).on('error', () => {});
  };
}

/**
 * Sentinels that tell of a failover while ioredis asks one of them for the master make it give up for good: that breaks
 * off its attempt to connect, and only attempts that fail later are repeated.
 */
export function goOnAfterEnd(client: Redis, afterMs: number): void {
  let isWanted = true;
  const disconnect = client.disconnect.bind(client);
  client.disconnect = (reconnect = false) => {
    isWanted &&= reconnect;
    disconnect(reconnect);
  };
  client.on('end', () => {
    if (!isWanted) return;
    const connect = () => {
      // Rejects when the connection closes again, which its events tell as well.
      if (isWanted) client.connect().catch(() => {});
    };
    setTimeout(connect, afterMs).unref();
  });
}
