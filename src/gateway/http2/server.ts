/** A server of HTTP/2 on connections that others accept (https://www.rfc-editor.org/rfc/rfc9113). */
import type { Socket } from 'node:net';
import type { Http2Stream } from './stream.ts';

/** Closes the connection if the work throws. */
export interface Guard {
  /** Calls into Node for the connection. */
  enter(work: () => void): void;
  /** Does the server's own work for the connection. */
  leave(work: () => void): void;
}

export type OnRequest = (stream: Http2Stream) => void;

export function createHttp2Server() {
  return {
    /** `socket` is one of TCP or TLS. */
    open(_socket: Socket, _guard: Guard, _onRequest: OnRequest): void {
      throw new Error('not written yet');
    },
    /** Makes peers send new requests elsewhere, and closes each connection when its streams have ended. */
    close(): void {},
  };
}
