/** The bytes of a client of HTTP/2 that speaks without TLS: for tunnels that no client library would use. */
import { frame, literal, PREFACE, Type } from './http2-frames.ts';

const END_STREAM_AND_HEADERS = 0x05;

/** The preface, and a GET of the path on each of the streams. */
export function http2Requests(path: string, streams: readonly number[]): Buffer {
  const block = Buffer.concat([
    literal(':method', 'GET'),
    literal(':scheme', 'http'),
    literal(':authority', 'a'),
    literal(':path', path),
  ]);
  return Buffer.concat([
    Buffer.from(PREFACE),
    frame(Type.settings, 0, 0),
    ...streams.map((stream) => frame(Type.headers, END_STREAM_AND_HEADERS, stream, block)),
  ]);
}
