/**
 * Requests at a fixed rate, whether or not those before them were answered. A request's latency begins at the moment
 * that the rate meant it for: one that had to wait, for a connection or for this program, has waited.
 *
 * A program of its own, so that its work is not the work of what it measures: OPTIONS as JSON; prints an
 * OpenLoopResult as JSON.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { waitTowards } from './precise-wait.ts';

export interface OpenLoopOptions {
  readonly url: string;
  readonly requestsPerSecond: number;
  readonly seconds: number;
  readonly clients: number;
}

export interface OpenLoopResult {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers that were no 200. */
  readonly errors: number;
  /** Answers of a gateway that did not hear from Redis in time. */
  readonly unmeasured: number;
}

const CONNECTIONS = 256;
/** For connections to be there, and the first timer to have come. */
const LEAD_MS = 50;
const PATIENCE_MS = 10_000;
/** At first this program is compiled while it runs, and late; what it sends then is not recorded. */
const WARM_UP_SECONDS = 0.5;

const { url, requestsPerSecond, seconds, clients } = JSON.parse(
  process.argv[2] ?? '',
) as OpenLoopOptions;
const { hostname, port, host, pathname } = new URL(url);
const warmUps = Math.round(requestsPerSecond * WARM_UP_SECONDS);
const total = warmUps + Math.round(requestsPerSecond * seconds);
let answered = 0;
let startMs = 0;
const momentOf = (index: number) => startMs + (index * 1000) / requestsPerSecond;
const latenciesMs: number[] = [];
let errors = 0;
let unmeasured = 0;

interface Connection {
  readonly socket: Socket;
  index: number;
  text: string;
}

const idle: Connection[] = [];
for (let i = 0; i < CONNECTIONS; i++) {
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1');
  const connection = { socket, index: 0, text: '' };
  socket.on('data', (text: unknown) => receive(connection, String(text)));
  await once(socket, 'connect');
  idle.push(connection);
}

function receive(connection: Connection, text: string): void {
  connection.text += text;
  const end = connection.text.indexOf('\r\n\r\n');
  if (end === -1) return;
  const bodyLength = Number(/^content-length: (\d+)/im.exec(connection.text)?.[1]);
  if (connection.text.length < end + 4 + bodyLength) return;
  answered++;
  if (connection.index >= warmUps) {
    latenciesMs.push(performance.now() - momentOf(connection.index));
    if (!connection.text.startsWith('HTTP/1.1 200 ')) errors++;
    if (connection.text.includes('X-RateLimit-Mode')) unmeasured++;
  }
  connection.text = '';
  idle.push(connection);
}

function ask(connection: Connection, index: number): void {
  const client = index % clients;
  const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
  connection.index = index;
  connection.socket.write(
    `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nx-headgate-client-ip: ${address}\r\nx-headgate-peer-ip: ${address}\r\n\r\n`,
  );
}

startMs = performance.now() + LEAD_MS;
const giveUpMs = startMs + (WARM_UP_SECONDS + seconds) * 1000 + PATIENCE_MS;
for (let sent = 0; answered < total; ) {
  while (sent < total && momentOf(sent) <= performance.now()) {
    const connection = idle.shift();
    if (connection === undefined) break;
    ask(connection, sent);
    sent++;
  }
  if (performance.now() > giveUpMs) throw new Error(`${total - answered} have no answer`);
  // With nothing left to send, or nobody to send it, the answers are awaited.
  await waitTowards(sent < total && idle.length > 0 ? momentOf(sent) : giveUpMs);
}

latenciesMs.sort((a, b) => a - b);
const quantile = (part: number) =>
  latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * part))] ??
  Number.NaN;
const result: OpenLoopResult = {
  p50Ms: quantile(0.5),
  p90Ms: quantile(0.9),
  p99Ms: quantile(0.99),
  maxMs: quantile(1),
  errors,
  unmeasured,
};
console.log(JSON.stringify(result));
process.exit();
