/** The HTTP/2 server of the gRPC port, with a body in each answer: what the request has, or a text. */
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions } from 'node:tls';
import { headerBlock } from '../../../src/gateway/http2/header-block.ts';
import { createHttp2Server } from '../../../src/gateway/http2/server.ts';
import type { Http2Stream } from '../../../src/gateway/http2/stream.ts';
import { ConnectionGuard } from '../../../src/gateway/server/connection-guard.ts';
import { type LocalServer, listenLocally } from '../../support/local-server.ts';

export interface EchoServer extends LocalServer {
  /** Errors of the server itself. */
  readonly faults: readonly unknown[];
  /** Streams whose request came and whose end did not. */
  readonly openStreams: number;
}

const HEAD = headerBlock([[':status', '200']]);
const TRAILERS = headerBlock([['grpc-status', '0']]);

/** Over TLS with a certificate. */
export async function startEchoServer(tls?: SecureContextOptions): Promise<EchoServer> {
  const http2 = createHttp2Server();
  const faults: unknown[] = [];
  let openStreams = 0;
  const onRequest = (stream: Http2Stream) => {
    openStreams++;
    echo(stream, () => openStreams--);
  };
  const take = (socket: Socket) => {
    const guard = new ConnectionGuard(socket, (fault) => faults.push(fault));
    guard.enter(() => http2.open(socket, guard, onRequest));
  };
  const server: Server =
    tls === undefined
      ? createServer({ noDelay: true }, take)
      : createTlsServer({ ...tls, ALPNProtocols: ['h2'], noDelay: true }, take);
  const { port, [Symbol.asyncDispose]: close } = await listenLocally(server);
  return {
    port,
    faults,
    get openStreams() {
      return openStreams;
    },
    [Symbol.asyncDispose]: async () => {
      http2.close();
      await close();
    },
  };
}

function echo(stream: Http2Stream, onClosed: () => void): void {
  let hasBody = false;
  stream.respond(HEAD);
  stream.listener = {
    onData: (chunk, isLast) => {
      hasBody ||= chunk.length > 0;
      stream.write(chunk.toString('latin1'));
      if (!isLast) return;
      if (!hasBody) stream.write('a body');
      stream.end(TRAILERS);
    },
    onClosed,
  };
}
