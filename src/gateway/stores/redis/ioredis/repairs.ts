/**
 * Works around faults of ioredis that would break a gateway. The list has all that depends on its inside, as read from
 * ioredis 6.0.0. At an update, compare each of these with the new release:
 *
 * - `built/resp/decoder.js` exports `Decoder`, whose replies ReplyDecoder must match (../resp/reply-decoder.ts).
 * - `built/DataHandler.js` calls `dispatch` for each reply, and `returnFatalError` closes the connection.
 * - `built/connectors/*.js` have `connect` and `connectToSentinel`, which listen for one error only.
 * - `disconnect(true)` reconnects, and `end` is the last event of a connection (`reconnectAfterEnd`).
 * - TLS options are read again for each connection (`tlsOptions` of ../connecting.ts).
 * - Errors have the texts that ../failures.ts recognizes, and "Stream isn't writeable" (telemetry/cause-text.ts).
 *
 * Then run test/contract, test/integration/sentinels, and the scenarios wire-faults and failovers.
 */
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import type { Redis } from 'ioredis';
import { ReplyDecoder } from '../resp/reply-decoder.ts';

const require = createRequire(import.meta.url);

interface ReplyHandler {
  dispatch(handle: () => void): void;
  returnFatalError(error: unknown): void;
}

interface Connector {
  connect(...args: unknown[]): Promise<Duplex>;
}

interface SentinelConnector extends Connector {
  connectToSentinel(...args: unknown[]): Redis;
}

export function repairIoredis(): void {
  // That of ioredis reserves memory for any length that a reply announces, and skips bytes that it cannot read.
  require('ioredis/built/resp/decoder.js').Decoder = ReplyDecoder;
  surviveOddReplies(require('ioredis/built/DataHandler.js').default.prototype);
  const sentinels = require('ioredis/built/connectors/SentinelConnector').default.prototype;
  silenceSentinelErrors(sentinels);
  surviveSecondErrors(sentinels);
  surviveSecondErrors(require('ioredis/built/connectors/StandaloneConnector').default.prototype);
}

/**
 * For a push whose kind is null, ioredis throws an error that cannot be caught. Here it closes the connection instead.
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

/**
 * ioredis listens for one error of a connection. Node may report two over TLS: it refuses the certificate, and the server
 * answers that with an alert. An error without a listener ends the process.
 */
function surviveSecondErrors(connector: Connector): void {
  const { connect } = connector;
  connector.connect = async function connectOnce(...args) {
    const stream = await connect.apply(this, args);
    return stream.on('error', () => {});
  };
}

/** ioredis prints a stack for every attempt to reach a sentinel that is down. If none can be reached, it also emits an error. */
function silenceSentinelErrors(connector: SentinelConnector): void {
  const { connectToSentinel } = connector;
  connector.connectToSentinel = function connect(...args) {
    return connectToSentinel.apply(this, args).on('error', () => {});
  };
}

/**
 * If sentinels report a failover while ioredis queries one of them for the master, ioredis aborts that attempt to connect
 * and never tries again. This reconnects after every end that was not requested.
 */
export function reconnectAfterEnd(client: Redis, afterMs: number): void {
  let isWanted = true;
  const disconnect = client.disconnect.bind(client);
  client.disconnect = (reconnect = false) => {
    isWanted &&= reconnect;
    disconnect(reconnect);
  };
  client.on('end', () => {
    if (!isWanted) return;
    const connect = () => {
      // Rejects if the connection closes again. Its events report that, too.
      if (isWanted) client.connect().catch(() => {});
    };
    setTimeout(connect, afterMs).unref();
  });
}
