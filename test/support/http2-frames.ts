/** HTTP/2 connections, written frame by frame (RFC 9113), for frames that no client library sends. */
import { once } from 'node:events';
import { connect } from 'node:net';

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
export const DATA_OF_PING = Buffer.alloc(8, 7);
export const CANCEL = Buffer.from([0, 0, 0, 8]);
const END_HEADERS = 4;
export const ACK = 1;
export const END_STREAM = 1;
export const Type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export interface RawHttp2 extends Disposable {
  /** Opens this many streams, and resets each of them at once. */
  openAndReset(count: number): void;
  /** Resolves to false if the connection is closed instead of answering. */
  answersPing(): Promise<boolean>;
}

/** All streams are gRPC requests with this path. */
export async function connectRawHttp2(port: number, path: string): Promise<RawHttp2> {
  const socket = connect(port, '127.0.0.1');
  // Node emits `close` after it.
  socket.on('error', () => {});
  await once(socket, 'connect');
  const closed = new Promise<false>((resolve) => socket.once('close', () => resolve(false)));
  let received = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
  });
  socket.write(START);
  let nextStream = 1;
  return {
    openAndReset(count) {
      const frames: Buffer[] = [];
      for (const end = nextStream + 2 * count; nextStream < end; nextStream += 2) {
        frames.push(callHeaders(nextStream, { path }));
        frames.push(frame(Type.reset, 0, nextStream, CANCEL));
      }
      socket.write(Buffer.concat(frames));
    },
    async answersPing() {
      received = Buffer.alloc(0);
      socket.write(frame(Type.ping, 0, 0, DATA_OF_PING));
      const pong = frame(Type.ping, ACK, 0, DATA_OF_PING);
      while (!received.includes(pong)) {
        const more = new Promise<true>((resolve) => socket.once('data', () => resolve(true)));
        if (!(await Promise.race([more, closed]))) return false;
      }
      return true;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** What a client sends first: the preface, and its settings. */
export const START = Buffer.concat([Buffer.from(PREFACE), frame(Type.settings, 0, 0)]);

/** The headers of a call, in one frame. `:authority` gets an index, as Envoy sends it. */
export function callHeaders(
  stream: number,
  { path, authority = 'a', contentType = 'application/grpc' }: CallHeaders,
): Buffer {
  const block = Buffer.concat([
    // Indexed: POST, http (RFC 7541, appendix A).
    Buffer.from([0x83, 0x86]),
    literal(':path', path),
    indexedAuthority(authority),
    literal('content-type', contentType),
    literal('te', 'trailers'),
  ]);
  return frame(Type.headers, END_HEADERS, stream, block);
}

interface CallHeaders {
  readonly path: string;
  readonly authority?: string;
  readonly contentType?: string;
}

/** `:authority` as a literal that enters the dynamic table. Shorter than 127 bytes. */
function indexedAuthority(authority: string): Buffer {
  return Buffer.concat([Buffer.from([0x41, authority.length]), Buffer.from(authority)]);
}

/** A header without indexing. Name and value must be shorter than 127 bytes. */
export function literal(name: string, value: string): Buffer {
  const parts = [name, value].map((text) =>
    Buffer.from(`${String.fromCharCode(text.length)}${text}`),
  );
  return Buffer.concat([Buffer.from([0]), ...parts]);
}
