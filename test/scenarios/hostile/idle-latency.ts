/** What thousands of idle connections cost a client that sends one request after the other. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { median, printTable, type Row, spread } from '../../../tools/table.ts';
import type { GatewayProcess } from '../../support/gateway.ts';

/** Fewer than a gateway accepts where a process may open 20,000 files: a quarter of them. */
export const IDLE_SOCKETS = 4_000;
const ROUNDS = 6;
const REQUESTS_PER_ROUND = 3_000;
/** Opening and closing thousands of connections leaves work behind that a round must not measure. */
const UNMEASURED_REQUESTS = 2_000;
/** Few enough not to overflow the queue of connections that wait to be accepted. */
const OPENED_AT_ONCE = 100;

interface Latency {
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** Rounds with and without idle connections take turns, so that a noisy machine is noisy for both. */
export async function proveIdle(gateway: GatewayProcess): Promise<string[]> {
  const wrong: string[] = [];
  await measureLatency(gateway);
  const without: Latency[] = [];
  const among: Latency[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    without.push(await measureLatency(gateway));
    const idle = await openIdle(gateway);
    among.push(await measureLatency(gateway));
    const stillOpen = idle.filter(({ readyState }) => readyState === 'open').length;
    if (stillOpen < IDLE_SOCKETS)
      wrong.push(`${IDLE_SOCKETS} idle connections stay open: ${stillOpen} did`);
    await Promise.all(idle.map(closed));
  }
  console.log(
    `${REQUESTS_PER_ROUND} requests one after the other, ${ROUNDS} rounds each. Median (least to most).\n`,
  );
  printTable([latencyRow('0', without), latencyRow(String(IDLE_SOCKETS), among)]);
  const medianOf = (rounds: readonly Latency[]) => median(rounds.map((each) => each.p50Micros));
  const ratios = among.map((each, i) => each.p50Micros / (without[i]?.p50Micros ?? Number.NaN));
  console.log(`\nratio of the medians ${(medianOf(among) / medianOf(without)).toFixed(2)}`);
  console.log(`round by round       ${spread(ratios, 2)}\n`);
  return wrong;
}

function latencyRow(idle: string, rounds: readonly Latency[]): Row {
  return {
    'idle connections': idle,
    'p50 us': spread(rounds.map(({ p50Micros }) => p50Micros)),
    'p99 us': spread(rounds.map(({ p99Micros }) => p99Micros)),
  };
}

async function measureLatency(gateway: GatewayProcess): Promise<Latency> {
  const socket = await connected(gateway);
  for (let i = 0; i < UNMEASURED_REQUESTS; i++) await ask(socket, i);
  const micros: number[] = [];
  for (let i = 0; i < REQUESTS_PER_ROUND; i++) {
    const startedMs = performance.now();
    await ask(socket, i);
    micros.push((performance.now() - startedMs) * 1000);
  }
  await closed(socket);
  micros.sort((a, b) => a - b);
  const quantile = (part: number) => micros[Math.floor(micros.length * part)] ?? Number.NaN;
  return { p50Micros: quantile(0.5), p99Micros: quantile(0.99) };
}

/** Each connection has had one answer and stays open, as those of proxies do. */
async function openIdle(gateway: GatewayProcess): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < IDLE_SOCKETS) {
    const added = Array.from({ length: OPENED_AT_ONCE }, async (_, i) => {
      const socket = await connected(gateway);
      await ask(socket, sockets.length + i);
      return socket;
    });
    sockets.push(...(await Promise.all(added)));
  }
  return sockets;
}

async function connected(gateway: GatewayProcess): Promise<Socket> {
  const socket = connect(gateway.port, new URL(gateway.url).hostname).setNoDelay();
  await once(socket.setEncoding('latin1'), 'connect');
  // An idle connection that is reset is counted as closed.
  return socket.on('error', () => {});
}

/** An ordinary request of one of many clients, none of which reaches a limit. */
async function ask(socket: Socket, client: number): Promise<void> {
  const address = `10.78.${(client >> 8) & 255}.${client & 255}`;
  socket.write(
    `GET /envoy/a HTTP/1.1\r\nHost: shop.example\r\nX-Headgate-Client-IP: ${address}\r\n\r\n`,
  );
  let text = '';
  // An allow has no body.
  while (!text.endsWith('\r\n\r\n')) text += String((await once(socket, 'data'))[0]);
  if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(`an ordinary request got ${text}`);
}

/** The server may reset a connection that it is closing at the same moment. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('error', () => {}).once('close', () => resolve());
    socket.resume().end();
  });
}
