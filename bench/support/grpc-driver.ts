/**
 * Sends gRPC calls. A separate program, so that its work is not counted: takes GrpcDriverOptions as JSON, prints an
 * Applied as JSON.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { frame as frameMessage } from '../../test/support/grpc-frames.ts';
import { waitTowards } from '../../tools/load/precise-wait.ts';
import { openAccessLog } from './access-log-stream.ts';
import { type Calls, GrpcConnection } from './grpc-connection.ts';
import { indexedHeaders } from './grpc-headers.ts';
import type { GrpcDriverOptions } from './grpc-load.ts';
import { CLIENT_PLACE, ID_PLACE } from './grpc-messages.ts';
import { type Applied, latencyOf } from './load.ts';

/** Neighbours in time are no neighbours in memory. A prime, as in clients.lua. */
const STEP = 7_919;
/** Of an open loop: until this program is compiled, it sends late. */
const WARM_UP_MS = 500;

const options = JSON.parse(process.argv[2] ?? '') as GrpcDriverOptions;
const { clients, service, expects, requestsPerSecond, outcome } = options;
const message = frameMessage(Buffer.from(options.message, 'base64'));
const clientPlaces = placesOf(CLIENT_PLACE);
const idPlaces = placesOf(ID_PLACE).map((place) => place + ID_PLACE.length - 12);

const TOKEN_KEY = Buffer.from('\x0a\x06settle');
let client = Math.floor(Math.random() * clients);
// Ids of two runs differ.
let id = (Date.now() % 100_000_000) * 10_000;
/** Of each answered call. */
const tookMs: number[] = [];
let unexpected = 0;
let isEnding = false;

const calls: Calls = {
  headers: indexedHeaders(options.path),
  nextMessage,
  onAnswer(dueMs, answer, connection) {
    const nowMs = performance.now();
    tookMs.push(nowMs - dueMs);
    if (answer === undefined || !isExpected(answer)) unexpected++;
    else if (outcome !== undefined) settle(answer);
    if (requestsPerSecond === undefined && !isEnding) connection.call(nowMs);
  },
  onFailure: fail,
};
const connections = await Promise.all(
  Array.from({ length: options.connections }, async () => {
    const socket = connect(options.port, '127.0.0.1');
    await once(socket, 'connect');
    return new GrpcConnection(socket, calls);
  }),
);

/** Envoy has a stream for each of its threads, and each thread a connection for checks. */
const logs =
  outcome === undefined
    ? []
    : Array.from({ length: options.connections }, () => openAccessLog(options.port, outcome));
let reported = 0;

const startMs = performance.now();
const leftOut = await sendAll(startMs + options.seconds * 1_000);
isEnding = true;
await Promise.all(connections.map((connection) => connection.drained()));
await Promise.all(logs.map((log) => log.end()));
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

/** Resolves to the number of answers that came too early to be measured. */
async function sendAll(endMs: number): Promise<number> {
  if (requestsPerSecond !== undefined) {
    await sendAtRate(requestsPerSecond, performance.now() + WARM_UP_MS);
    const early = tookMs.length;
    await sendAtRate(requestsPerSecond, endMs + WARM_UP_MS);
    return early;
  }
  for (const connection of connections) {
    for (let i = 0; i < options.streams; i++) connection.call(performance.now());
    connection.flush();
  }
  await new Promise((resolve) => setTimeout(resolve, endMs - performance.now()));
  return 0;
}

/** One call after the other on each connection in turn, at the times when they are due. */
async function sendAtRate(perSecond: number, untilMs: number): Promise<void> {
  const firstMs = performance.now();
  for (let i = 0, dueMs = firstMs; dueMs < untilMs; dueMs = firstMs + (++i * 1_000) / perSecond) {
    while (performance.now() < dueMs) await waitTowards(dueMs);
    const connection = connections[i % connections.length];
    connection?.call(dueMs);
    connection?.flush();
  }
}

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

/** Each message arrives in one DATA frame of each server that is measured. */
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

/** The token stands in the dynamic metadata, as the text of a Value. A request that nothing counted has none. */
function settle(data: Buffer): void {
  const key = data.lastIndexOf(TOKEN_KEY);
  if (key === -1) return;
  const struct = data.indexOf(0x1a, key + TOKEN_KEY.length);
  const start = struct + ((data[struct + 1] ?? 0) < 128 ? 2 : 3);
  logs[reported++ % logs.length]?.report(data.toString('latin1', start));
}

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}
