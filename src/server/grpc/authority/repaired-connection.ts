/**
 * Lets Node accept requests whose `:authority` is no host name. Envoy sends the name of the cluster there unless its
 * configuration sets `authority`, and Istio names clusters "outbound|8081||ratelimit.default.svc.cluster.local". Node
 * resets such requests, which then pass uncounted unless `failure_mode_deny` is set.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { AuthorityRepair } from './authority-repair.ts';

/**
 * Calls back with what to read requests from, once the first bytes have arrived: the connection itself if its first request
 * needs no repair, because reading it without Node's streams is faster.
 */
export function whenReadable(
  connection: Socket,
  onReadable: (connection: Socket | Duplex) => void,
): void {
  // A client that is gone before its first bytes: `close` follows.
  connection.on('error', () => {});
  connection.once('data', (chunk: Buffer) => {
    connection.pause();
    const repair = new AuthorityRepair();
    const first = repair.feed(chunk);
    if (repair.hasHeaders && !repair.hasRepaired) {
      connection.unshift(chunk);
      onReadable(connection);
    } else onReadable(new RepairedConnection({ connection, repair, first }));
  });
}

interface Begun {
  readonly connection: Socket;
  readonly repair: AuthorityRepair;
  /** Repaired already. */
  readonly first: Buffer;
}

class RepairedConnection extends Duplex {
  readonly #connection: Socket;

  constructor({ connection, repair, first }: Begun) {
    super({ allowHalfOpen: false });
    this.#connection = connection;
    if (first.length > 0) this.push(first);
    connection.on('data', (chunk: Buffer) => {
      const repaired = repair.feed(chunk);
      if (repaired.length > 0 && !this.push(repaired)) connection.pause();
    });
    // Node's wrapper around this stream throws if it has to write after it was told of the end.
    connection.on('end', () => this.destroy());
    connection.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#connection.write(chunk)) done();
    else this.#connection.once('drain', done);
  }

  /** One write instead of several saves a third of the time that a call takes. */
  override _writev(chunks: readonly { chunk: Buffer }[], done: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'binary', done);
  }

  override _final(done: () => void): void {
    // It calls back with an error if the client has closed the connection.
    this.#connection.end(() => done());
  }

  override _destroy(_error: Error | null, done: () => void): void {
    this.#connection.destroy();
    done();
  }
}
