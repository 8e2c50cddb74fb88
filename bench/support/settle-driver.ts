/**
 * Sends checks over HTTP and the reports that settle them. A separate program, so that its work is not counted: takes
 * SettleDriverOptions as JSON, prints an Applied as JSON.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Applied, latencyOf } from './load.ts';
import type { SettleDriverOptions } from './settle-load.ts';

/** As in grpc-driver.ts. */
const STEP = 7_919;
const OK = 'HTTP/1.1 200 ';
/** Allowed checks are answered without a body. */
const HEAD_END = '\r\n\r\n';
const TOKEN = '\r\nX-Headgate-Settle: ';
const JSON_END = '}';

const options = JSON.parse(process.argv[2] ?? '') as SettleDriverOptions;
const { port, path, seconds, clients, connections, outcome } = options;
const report = outcome && JSON.stringify({ status: 200, ...outcome }).slice(1);
const tookMs: number[] = [];
let client = Math.floor(Math.random() * clients);

const startMs = performance.now();
const endMs = startMs + seconds * 1_000;
await Promise.all(Array.from({ length: connections }, send));
const applied: Applied = {
  requests: tookMs.length,
  requestsPerSecond: (tookMs.length * 1_000) / (performance.now() - startMs),
  latency: latencyOf(tookMs),
};
console.log(JSON.stringify(applied));

async function send(): Promise<void> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    // One buffer for all answers: this program must not be what the gateway waits for.
    onread: {
      buffer: Buffer.allocUnsafe(4_096),
      callback(length, buffer) {
        received += (buffer as Buffer).toString('latin1', 0, length);
        if (received.endsWith(ending)) take();
        return true;
      },
    },
  });
  await once(socket, 'connect');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let sentMs = performance.now();
  let received = '';
  let ending = HEAD_END;
  const take = () => {
    const answer = received;
    received = '';
    if (!answer.startsWith(OK)) return reject(new Error(answer));
    // A request that nothing counted has no token.
    const at = ending === HEAD_END && report !== undefined ? answer.indexOf(TOKEN) : -1;
    if (at !== -1) {
      ending = JSON_END;
      const start = at + TOKEN.length;
      return sendReport(socket, answer.slice(start, answer.indexOf('\r', start)), report ?? '');
    }
    ending = HEAD_END;
    const nowMs = performance.now();
    tookMs.push(nowMs - sentMs);
    if (nowMs >= endMs) return resolve();
    sentMs = nowMs;
    sendCheck(socket);
  };
  socket.on('error', reject).on('close', () => reject(new Error(`closed after: ${received}`)));
  sendCheck(socket);
  await promise;
  socket.destroy();
}

function sendCheck(socket: Socket): void {
  client = (client + STEP) % clients;
  const [a, b, c] = [client / 10_000, client / 100, client].map((n) => 100 + (Math.floor(n) % 100));
  const address = `10.${a}.${b}.${c}`;
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: api.example.com\r\nx-headgate-client-ip: ${address}\r\nx-headgate-peer-ip: ${address}\r\n\r\n`,
  );
}

function sendReport(socket: Socket, token: string, rest: string): void {
  const body = `{"token":"${token}",${rest}`;
  socket.write(
    `POST /settle HTTP/1.1\r\nHost: headgate\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}
