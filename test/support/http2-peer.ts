/** A peer of our HTTP/2 server that sends and reads frames byte by byte, and a server that it can talk to. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { ErrorCode } from '../../src/gateway/http2/frames.ts';
import { headerBlock } from '../../src/gateway/http2/header-block.ts';
import { HeaderDecoder } from '../../src/gateway/http2/hpack/decoder.ts';
import { createHttp2Server } from '../../src/gateway/http2/server.ts';
import type { Http2Stream } from '../../src/gateway/http2/stream.ts';
import { ACK, DATA_OF_PING, END_STREAM, frame, START, Type } from './http2-frames.ts';
import { listenLocally } from './local-server.ts';

export const HEAD = headerBlock([[':status', '200']]);
export const TRAILERS = headerBlock([['grpc-status', '0']]);
export const END_HEADERS = 4;
export const PADDED = 8;
export const PRIORITY = 0x20;

export const uint32 = (...numbers: number[]) => {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [i, number] of numbers.entries()) bytes.writeUInt32BE(number, 4 * i);
  return bytes;
};

export type Fields = readonly (readonly [string, string])[];

export const REQUEST: Fields = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/a'],
  [':authority', 'a'],
];

/** Long texts, too, without Huffman code or table. */
export function block(fields: Fields): Buffer {
  return Buffer.concat(
    fields.map(([name, value]) =>
      Math.max(name.length, value.length) < 127
        ? Buffer.concat([Buffer.from([0]), text(name), text(value)])
        : Buffer.concat([Buffer.from([0]), longText(name), longText(value)]),
    ),
  );
}

const text = (value: string) =>
  Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')]);

function longText(value: string): Buffer {
  if (value.length < 127) return text(value);
  const bytes = [127];
  let rest = value.length - 127;
  for (; rest > 127; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...bytes, rest]), Buffer.from(value, 'latin1')]);
}

export const opened = (stream: number, more: Fields = [], flags = END_HEADERS) =>
  frame(Type.headers, flags, stream, block([...REQUEST, ...more]));
/** A whole request without a body. */
export const asked = (stream: number, more: Fields = []) =>
  opened(stream, more, END_HEADERS | END_STREAM);
export const data = (stream: number, bytes: string | Uint8Array = '', flags = 0) =>
  frame(Type.data, flags, stream, Buffer.from(bytes));
export const settings = (...entries: readonly (readonly [id: number, value: number])[]) =>
  frame(
    Type.settings,
    0,
    0,
    Buffer.concat(
      entries.map(([id, value]) => Buffer.concat([uint32(id).subarray(2), uint32(value)])),
    ),
  );
export const INITIAL_WINDOW_SIZE = 4;
export const widened = (stream: number, bytes: number) =>
  frame(Type.windowUpdate, 0, stream, uint32(bytes));
export const reset = (stream: number) => frame(Type.reset, 0, stream, uint32(ErrorCode.cancel));
export const PING = frame(Type.ping, 0, 0, DATA_OF_PING);

export interface Received {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** As `reset 1 protocol` or `goaway 0 none`. Frames that do not matter to a test, such as those of the start, are left out. */
function told(frames: readonly Received[], decoder = new HeaderDecoder(4_096)): string[] {
  const nameOf = (code: number) =>
    Object.entries(ErrorCode).find(([, value]) => value === code)?.[0] ?? String(code);
  return frames.flatMap(({ type, flags, stream, payload }) => {
    const end = (flags & END_STREAM) !== 0 ? ', end' : '';
    if (type === Type.reset) return [`reset ${stream} ${nameOf(payload.readUInt32BE())}`];
    if (type === Type.goaway) {
      return [`goaway ${payload.readUInt32BE()} ${nameOf(payload.readUInt32BE(4))}`];
    }
    if (type === Type.data) return [`data ${stream} ${payload.toString('latin1')}${end}`];
    if (type === Type.windowUpdate && (stream !== 0 || payload.readUInt32BE() !== 983_041)) {
      return [`credit ${stream} ${payload.readUInt32BE()}`];
    }
    if (type !== Type.headers) return [];
    const fields: string[] = [];
    decoder.decode(payload, (name, value) => fields.push(`${name}=${value}`));
    return [`headers ${stream} ${fields.join(' ')}${end}`];
  });
}

export class RawPeer {
  readonly socket: Socket;
  readonly decoder = new HeaderDecoder(4_096);
  readonly received: Received[] = [];
  #bytes = Buffer.alloc(0);
  #told = 0;
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
    });
    socket.on('end', () => socket.end());
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      while (this.#bytes.length >= 9 && this.#bytes.length >= 9 + this.#bytes.readUIntBE(0, 3)) {
        const end = 9 + this.#bytes.readUIntBE(0, 3);
        this.received.push({
          type: this.#bytes[3] as number,
          flags: this.#bytes[4] as number,
          stream: this.#bytes.readUInt32BE(5),
          payload: this.#bytes.subarray(9, end),
        });
        this.#bytes = this.#bytes.subarray(end);
      }
    });
  }

  send(...frames: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** What was told since the last call, as soon as a ping that is sent now is answered or the connection is closed. */
  async says(...frames: readonly Uint8Array[]): Promise<string[]> {
    const pongs = () => this.received.filter(isPong).length;
    const before = pongs();
    this.send(...frames, PING);
    await this.until(() => this.isClosed || pongs() > before);
    return this.news();
  }

  /** What was told since the last call, once the connection is closed. */
  async saysAtEnd(...frames: readonly Uint8Array[]): Promise<string[]> {
    this.send(...frames);
    await this.until(() => this.isClosed);
    return this.news();
  }

  /** What was told since the last call. */
  news(): string[] {
    const news = this.received.slice(this.#told);
    this.#told = this.received.length;
    return told(news, this.decoder);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await nextTurn();
  }
}

const isPong = ({ type, flags, payload }: Received) =>
  type === Type.ping && flags === ACK && payload.equals(DATA_OF_PING);

export interface PeerServer {
  readonly server: ReturnType<typeof createHttp2Server>;
  /** Sockets of the server, in the order in which they were accepted. */
  readonly accepted: Socket[];
  readonly faults: unknown[];
  readonly port: number;
  /** It has sent its preface and its settings. */
  connected(): Promise<RawPeer>;
  /** It has sent nothing. */
  silent(): Promise<RawPeer>;
}

/** For the test that calls it, or whose `beforeEach` does. */
export async function startPeerServer(
  onRequest: (stream: Http2Stream) => void = answerAtEnd('hello'),
): Promise<PeerServer> {
  const started = new AsyncDisposableStack();
  onTestFinished(() => started.disposeAsync());
  const accepted: Socket[] = [];
  const faults: unknown[] = [];
  const server = createHttp2Server();
  const listener = createServer((socket) => {
    accepted.push(socket);
    const run = (work: () => void) => {
      try {
        work();
      } catch (error) {
        faults.push(error);
        socket.destroy();
      }
    };
    server.open(socket, { enter: run, leave: run }, onRequest);
  });
  const { port } = started.use(await listenLocally(listener));
  const silent = async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    started.defer(() => void socket.destroy());
    const peer = new RawPeer(socket);
    await once(socket, 'connect');
    return peer;
  };
  const connected = async () => {
    const peer = await silent();
    peer.send(START);
    return peer;
  };
  started.defer(() => server.close());
  return { server, accepted, faults, port, connected, silent };
}

/** Answers with this text when the request has ended. */
export function answerAtEnd(text: string): (stream: Http2Stream) => void {
  return (stream) => {
    stream.listener = {
      onData(_chunk, isLast) {
        if (!isLast) return;
        stream.respond(HEAD);
        stream.write(text);
        stream.end(TRAILERS);
      },
      onClosed() {},
    };
  };
}

/** What `answerAtEnd` sends on this stream, if the windows hold it. */
export const answerOn = (stream: number, text = 'hello') => [
  `headers ${stream} :status=200`,
  `data ${stream} ${text}`,
  `headers ${stream} grpc-status=0, end`,
];
