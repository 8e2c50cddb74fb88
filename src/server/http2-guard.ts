/**
 * Limits how many streams one HTTP/2 connection can reset before it is closed. A reset costs its sender a few bytes and
 * the gateway 0.1 ms (CVE-2023-44487).
 *
 * Envoy resets a stream if its client aborts or if the answer is late. If the connection is closed, all its checks fail,
 * and the requests may pass unchecked. So the limit is above what clients cause in normal use: all streams of a
 * connection at once, and 1,000 a second. Node's own limit is 33 a second.
 */
import type { ServerOptions } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

export function limitResets(server: Server, streamResetBurst: number): void {
  const limit: ServerOptions = { streamResetBurst, streamResetRate: 1_000 };
  // @grpc/grpc-js has no option for this. Its constructor makes the options for Node's HTTP/2 server.
  const { commonServerOptions } = server as unknown as { commonServerOptions?: ServerOptions };
  if (commonServerOptions === undefined) {
    throw new Error(
      '@grpc/grpc-js keeps the options of its HTTP/2 server elsewhere, so resets would be unlimited',
    );
  }
  Object.assign(commonServerOptions, limit);
}
