/** Answers every gRPC call with the same OK, on the core API of node:http2: the least that a server on it can do. */
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { EMPTY_OK } from '../support/grpc-messages.ts';

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
const TRAILERS = { 'grpc-status': '0' };
const WITH_TRAILERS = { waitForTrailers: true };
const server = createServer();
server.on('stream', (stream) => {
  stream.on('error', () => {});
  stream.on('wantTrailers', () => stream.sendTrailers(TRAILERS));
  stream.on('end', () => {
    stream.respond(HEADERS, WITH_TRAILERS);
    stream.end(EMPTY_OK);
  });
  stream.resume();
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
