/** gRPC messages written byte by byte, on HTTP/2 streams of Node: what no gRPC library would send. */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';

export const AUTHORIZATION = 'envoy.service.auth.v3.Authorization';
export const CHECK = `/${AUTHORIZATION}/Check`;

/** A message with its frame. By default it says that it is not compressed, and its real length. */
export function frame(
  message: Uint8Array,
  { compressed = 0, length = message.length } = {},
): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** A field that holds bytes: its number, their length, the bytes. */
export function field(number: number, ...parts: Uint8Array[]): Buffer {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

export const METHOD = field(2, Buffer.from('GET'));
/** A check about a GET request with further fields. */
export const checkWith = (...http: Uint8Array[]) => field(1, field(4, field(2, METHOD, ...http)));
export const CHECK_MESSAGE = checkWith(field(4, Buffer.from('/a')));

export async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  return session;
}

export function openStream(
  session: ClientHttp2Session,
  headers: Record<string, string | string[]> = {},
): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': CHECK,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  return stream.on('error', () => {});
}

/** `grpc 3`; `http 415` if the answer has no status of gRPC; `reset` if there was no answer. */
export async function statusOf(stream: ClientHttp2Stream): Promise<string> {
  let found = 'reset';
  stream.on('response', (head) => {
    const code = head['grpc-status'];
    found = code === undefined ? `http ${head[':status']}` : `grpc ${code}`;
  });
  stream.on('trailers', ({ 'grpc-status': code }) => {
    found = `grpc ${code}`;
  });
  stream.resume();
  // It closes with or without an error.
  await new Promise((resolve) => stream.once('close', resolve));
  return found;
}
