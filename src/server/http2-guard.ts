/**
 * How many streams one HTTP/2 connection may reset before it is closed. A reset costs its sender some bytes and the
 * gateway 0.1 ms (CVE-2023-44487).
 *
 * Envoy resets a stream when its client aborts or when the answer is late. If its connection is closed, everything that
 * is under way on it fails, and may pass unchecked. So the bound is above what Envoy's clients cause in normal use: all
 * the streams of a connection at once, and 1,000 a second. Node's own bound is 33 a second.
 */
import type { ServerOptions } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

export function limitResets(server: Server, streamResetBurst: number): void {
  const bound: ServerOptions = { streamResetBurst, streamResetRate: 1_000 };
  // gRPC for Node has no option for it. Its own options for Node's HTTP/2 server are made in its constructor.
  const { commonServerOptions } = server as unknown as { commonServerOptions?: ServerOptions };
  if (commonServerOptions === undefined) {
    throw new Error(
      '@grpc/grpc-js keeps the options of its HTTP/2 server elsewhere: resets are unbounded',
    );
  }
  Object.assign(commonServerOptions, bound);
}
