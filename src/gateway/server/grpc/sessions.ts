import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerOptions,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { ConnectionGuard } from '../connection-guard.ts';
import { RepairedConnection } from './authority/repaired-connection.ts';
import { PeerStream } from './peer-stream.ts';

/** Envoy sends this many on a new connection, where it does not know the limit yet. */
const MAX_STREAMS = 1_024;

/**
 * How many streams a connection can reset before it is closed: all at once, and 1,000 a second. A reset costs its sender a
 * few bytes and the gateway 0.1 ms (CVE-2023-44487). Envoy resets a stream if its client aborts or the answer is late, and
 * if the connection is closed, all its checks fail and the requests may pass unchecked. So the limit is above what
 * clients cause in normal use; Node's own limit is 33 a second.
 */
const OPTIONS: ServerOptions = {
  settings: { maxConcurrentStreams: MAX_STREAMS },
  streamResetBurst: MAX_STREAMS,
  streamResetRate: 1_000,
};

/** Pings detect callers that disappeared without closing the connection. */
const PING_EVERY_MS = 60_000;
const PING_WITHIN_MS = 10_000;

export type AnswerStream = (stream: PeerStream, headers: IncomingHttpHeaders) => void;

export class Sessions {
  readonly #open = new Map<ServerHttp2Session, ConnectionGuard>();
  readonly #pings = setInterval(() => this.#ping(), PING_EVERY_MS).unref();

  /** Must be called in the context of the guard. */
  open(connection: Socket, guard: ConnectionGuard, answer: AnswerStream): void {
    const session = performServerHandshake(new RepairedConnection(connection), OPTIONS);
    this.#open.set(session, guard);
    // `close` follows.
    session.on('error', () => {});
    session.once('close', () => this.#open.delete(session));
    session.on('stream', (stream, headers) => {
      const peer = new PeerStream(stream, guard);
      guard.leave(() => answer(peer, headers));
    });
  }

  /** Makes callers send new requests elsewhere, and closes each session when its streams have ended. */
  close(): void {
    clearInterval(this.#pings);
    for (const [session, guard] of this.#open) guard.enter(() => session.close());
  }

  #ping(): void {
    for (const [session, guard] of this.#open) guard.enter(() => closeIfGone(session));
  }
}

function closeIfGone(session: ServerHttp2Session): void {
  // A session that has ended waits for its connection to close.
  if (session.destroyed) return;
  const timeout = setTimeout(() => session.destroy(), PING_WITHIN_MS).unref();
  const isSent = session.ping((error) => {
    clearTimeout(timeout);
    if (error !== null) session.destroy();
  });
  if (!isSent) clearTimeout(timeout);
}
