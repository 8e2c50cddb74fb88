/**
 * The only door to a stream of HTTP/2. Its peer can end it at any moment, also in the bytes that open it. So each method
 * does nothing if the stream is gone.
 */
import {
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { ConnectionGuard } from '../connection-guard.ts';
import { RepairedConnection } from './authority/repaired-connection.ts';

const WITH_TRAILERS = { waitForTrailers: true };
const WITHOUT_BODY = { endStream: true };

export class PeerStream {
  readonly #stream: ServerHttp2Stream;
  readonly #guard: ConnectionGuard;

  constructor(stream: ServerHttp2Stream, guard: ConnectionGuard) {
    this.#stream = stream;
    this.#guard = guard;
    // `close` follows.
    stream.on('error', () => {});
  }

  get isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  get hasAnswered(): boolean {
    return this.#stream.headersSent;
  }

  onData(listener: (chunk: Buffer) => void): void {
    this.#stream.on('data', (chunk: Buffer) => this.#guard.leave(() => listener(chunk)));
  }

  onEnd(listener: () => void): void {
    this.#stream.on('end', () => this.#guard.leave(listener));
  }

  onClosed(listener: () => void): void {
    this.#stream.once('close', () => this.#guard.leave(listener));
  }

  respond(headers: OutgoingHttpHeaders, trailers: () => OutgoingHttpHeaders): void {
    const stream = this.#stream;
    this.#touch(() => {
      stream.respond(headers, WITH_TRAILERS);
      stream.on('wantTrailers', () => this.#touch(() => stream.sendTrailers(trailers())));
    });
  }

  /** One character for each byte. */
  write(text: string): void {
    this.#touch(() => this.#stream.write(text, 'latin1'));
  }

  end(text = ''): void {
    this.#touch(() => this.#stream.end(text, 'latin1'));
  }

  /** Sends headers and nothing else. The rest of the request is not read. */
  refuse(headers: OutgoingHttpHeaders): void {
    this.#touch(() => {
      this.#stream.respond(headers, WITHOUT_BODY);
      this.#stream.close();
    });
  }

  #touch(work: () => void): void {
    if (!this.isGone) this.#guard.enter(work);
  }
}

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

export function createSessions() {
  const open = new Map<ServerHttp2Session, ConnectionGuard>();
  const onEach = (act: (session: ServerHttp2Session) => void) => {
    for (const [session, guard] of open) guard.enter(() => act(session));
  };
  const pings = setInterval(() => onEach(closeIfGone), PING_EVERY_MS).unref();
  return {
    /** Must be called in the context of the guard. */
    open(connection: Socket, guard: ConnectionGuard, answer: AnswerStream): void {
      const session = performServerHandshake(new RepairedConnection(connection), OPTIONS);
      open.set(session, guard);
      // `close` follows.
      session.on('error', () => {});
      session.once('close', () => open.delete(session));
      session.on('stream', (stream, headers) => {
        const peer = new PeerStream(stream, guard);
        guard.leave(() => answer(peer, headers));
      });
    },
    /** Makes callers send new requests elsewhere, and closes each session when its streams have ended. */
    close(): void {
      clearInterval(pings);
      onEach((session) => session.close());
    },
  };
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
