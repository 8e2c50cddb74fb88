/**
 * Sends gRPC calls on plain sockets, frame by frame (RFC 9113), because a client library costs more than the servers
 * that are measured. A separate program, so that its work is not counted: takes GrpcDriverOptions as JSON, prints an
 * Applied as JSON.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { frame as frameMessage } from '../../test/support/grpc-frames.ts';
import { frame, PREFACE } from '../../test/support/http2-frames.ts';
import { waitTowards } from '../../tools/load/precise-wait.ts';
import { indexedHeaders } from './grpc-headers.ts';
import type { GrpcDriverOptions } from './grpc-load.ts';
import { CLIENT_PLACE, ID_PLACE } from './grpc-messages.ts';
import { type Applied, latencyOf } from './load.ts';

const DATA = 0;
const HEADERS = 1;
const RESET = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const HEAD_BYTES = 9;
const INITIAL_WINDOW = 65_535;
const LARGEST_WINDOW = 0x7fff_ffff;
/** Neighbours in time are no neighbours in memory. A prime, as in clients.lua. */
const STEP = 7_919;
const WARM_UP_MS = 500;

const options = JSON.parse(process.argv[2] ?? '') as GrpcDriverOptions;
const { clients, service, expects } = options;
const message = frameMessage(Buffer.from(options.message, 'base64'));
const clientPlaces = placesOf(CLIENT_PLACE);
const idPlaces = placesOf(ID_PLACE).map((place) => place + ID_PLACE.length - 12);
const headers = indexedHeaders(options.path);

let client = Math.floor(Math.random() * clients);
// Ids of two runs differ.
let id = (Date.now() % 100_000_000) * 10_000;
/** Of each answered call. */
const tookMs: number[] = [];
let unexpected = 0;
let isEnding = false;

function placesOf(text: string): number[] {
  const places: number[] = [];
  for (let at = message.indexOf(text); at !== -1; at = message.indexOf(text, at + 1))
    places.push(at);
  return places;
}

/** The message with the next client and id. */
function nextMessage(): Buffer {
  client = (client + STEP) % clients;
  id++;
  const [a, b, c] = [client / 10_000, client / 100, client].map((n) => 100 + (Math.floor(n) % 100));
  for (const place of clientPlaces) message.write(`10.${a}.${b}.${c}`, place, 'latin1');
  for (const place of idPlaces) message.write(String(id).padStart(12, '0'), place, 'latin1');
  return message;
}

/** A call without an answer. */
interface OpenCall {
  readonly dueMs: number;
  /** Whether the expected message has arrived. */
  isExpected: boolean;
}

class Connection {
  readonly #socket: Socket;
  readonly #open = new Map<number, OpenCall>();
  #received: Buffer = Buffer.alloc(0);
  #output: Buffer[] = [];
  #nextStream = 1;
  #window = INITIAL_WINDOW;
  #onDrained = () => {};

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay();
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('close', () => {
      if (this.#open.size > 0) fail('the server closed a connection');
    });
    const update = Buffer.alloc(4);
    update.writeUInt32BE(LARGEST_WINDOW - INITIAL_WINDOW);
    this.#output.push(
      Buffer.from(PREFACE),
      frame(SETTINGS, 0, 0),
      frame(WINDOW_UPDATE, 0, 0, update),
    );
  }

  start(streams: number): void {
    for (let i = 0; i < streams; i++) this.#call(performance.now());
    this.#flush();
  }

  send(dueMs: number): void {
    this.#call(dueMs);
    this.#flush();
  }

  /** Resolves once every call has its answer. */
  async drained(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
    this.#socket.destroy();
  }

  #call(dueMs: number): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const bytes = nextMessage();
    this.#window -= bytes.length;
    if (this.#window < 0) fail('the server does not open its window in time');
    const head = stream === 1 ? headers.first : headers.later;
    this.#output.push(
      frame(HEADERS, END_HEADERS, stream, head),
      frame(DATA, END_STREAM, stream, bytes),
    );
    this.#open.set(stream, { dueMs, isExpected: false });
  }

  #flush(): void {
    if (this.#output.length === 0) return;
    this.#socket.write(Buffer.concat(this.#output));
    this.#output = [];
  }

  #read(bytes: Buffer): void {
    const received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    let at = 0;
    while (received.length >= at + HEAD_BYTES) {
      const length = received.readUIntBE(at, 3);
      const end = at + HEAD_BYTES + length;
      if (received.length < end) break;
      const stream = received.readUInt32BE(at + 5);
      this.#take(
        received[at + 3] ?? 0,
        received[at + 4] ?? 0,
        stream,
        received.subarray(at + HEAD_BYTES, end),
      );
      at = end;
    }
    this.#received = received.subarray(at);
    this.#flush();
    if (this.#open.size === 0) this.#onDrained();
  }

  #take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === DATA) {
      const call = this.#open.get(stream);
      if (payload.length > 0 && call !== undefined) call.isExpected = isExpected(payload);
      if (flags & END_STREAM) this.#finish(stream);
    } else if (type === HEADERS) {
      if (flags & END_STREAM) this.#finish(stream);
    } else if (type === SETTINGS && !(flags & ACK)) {
      this.#output.push(frame(SETTINGS, ACK, 0));
    } else if (type === PING && !(flags & ACK)) {
      this.#output.push(frame(PING, ACK, 0, payload));
    } else if (type === WINDOW_UPDATE && stream === 0) {
      this.#window += payload.readUInt32BE(0);
    } else if (type === GOAWAY || (type === RESET && this.#open.has(stream))) {
      fail(type === GOAWAY ? 'the server sent GOAWAY' : 'the server reset a stream');
    }
  }

  #finish(stream: number): void {
    const call = this.#open.get(stream);
    if (call === undefined) return;
    const nowMs = performance.now();
    tookMs.push(nowMs - call.dueMs);
    if (!call.isExpected) unexpected++;
    this.#open.delete(stream);
    if (options.requestsPerSecond === undefined && !isEnding) this.#call(nowMs);
  }
}

/** Each message arrives in one DATA frame of each server that is measured. Errors of gRPC have no message. */
function isExpected(data: Buffer): boolean {
  const answer = data.subarray(5);
  if (answer.length !== data.readUInt32BE(1)) fail('a message arrived in parts');
  if (service === 'rateLimit') {
    // RateLimitResponse: overall_code comes first; OK is 1 and OVER_LIMIT 2.
    return answer[0] === 0x08 && answer[1] === (expects === 'allow' ? 1 : 2);
  }
  // CheckResponse: status, then denied_response (2) or ok_response (3).
  const afterStatus = answer[0] === 0x0a ? 2 + (answer[1] ?? 0) : 0;
  return answer[afterStatus] === (expects === 'allow' ? 0x1a : 0x12);
}

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}

const connections = await Promise.all(
  Array.from({ length: options.connections }, async () => {
    const socket = connect(options.port, '127.0.0.1');
    await once(socket, 'connect');
    return new Connection(socket);
  }),
);
/** One call after the other on each connection in turn, at the times when they are due. */
async function sendAtRate(perSecond: number, untilMs: number): Promise<void> {
  const firstMs = performance.now();
  for (let i = 0, dueMs = firstMs; dueMs < untilMs; dueMs = firstMs + (++i * 1_000) / perSecond) {
    while (performance.now() < dueMs) await waitTowards(dueMs);
    connections[i % connections.length]?.send(dueMs);
  }
}

let leftOut = 0;
const startMs = performance.now();
const endMs = startMs + options.seconds * 1_000;
if (options.requestsPerSecond === undefined) {
  for (const connection of connections) connection.start(options.streams);
  await new Promise((resolve) => setTimeout(resolve, endMs - performance.now()));
} else {
  // Until this program is compiled, it sends late.
  await sendAtRate(options.requestsPerSecond, startMs + WARM_UP_MS);
  leftOut = tookMs.length;
  await sendAtRate(options.requestsPerSecond, endMs + WARM_UP_MS);
}
isEnding = true;
await Promise.all(connections.map((connection) => connection.drained()));
const answered = tookMs.length;
// The very first request of a client that is to be denied may still be admitted.
if (answered === 0 || unexpected > (expects === 'deny' ? 1 : 0)) {
  fail(`${unexpected} of ${answered} answers were not "${expects}"`);
}
const applied: Applied = {
  requests: answered,
  requestsPerSecond: (answered * 1_000) / (performance.now() - startMs),
  latency: latencyOf(tookMs.slice(leftOut)),
};
console.log(JSON.stringify(applied));
