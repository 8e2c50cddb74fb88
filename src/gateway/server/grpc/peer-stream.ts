/**
 * The only door to a stream of HTTP/2. Its peer can end it at any moment, also in the bytes that open it. So each method
 * does nothing if the stream is gone.
 */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { ConnectionGuard } from '../connection-guard.ts';

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
