/**
 * Proves that a gateway survives what no honest proxy sends, and that idle connections cost the others nothing to
 * speak of. `--requests` is how many, `--seed` which ones. Exits with 1 if anything is wrong. Linux only.
 */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { median, printTable, type Row, spread } from '../../bench/support/table.ts';
import { startGateway } from '../support/gateway.ts';
import { hostileRequests } from '../support/hostile-requests.ts';
import {
  FAULTS,
  isLetGoOf,
  LINGERERS,
  type LingererName,
  logFaults,
  offenceLine,
  silentLifeMs,
  slowLifeMs,
  type VolleyResult,
  volley,
} from '../support/hostile-volley.ts';
import { residentBytes } from '../support/resident-memory.ts';

const IDLE_SOCKETS = 5_000;
const ROUNDS = 6;
const REQUESTS_PER_ROUND = 3_000;
/** Opening and closing thousands of connections leaves work behind that is not what a round measures. */
const UNMEASURED_REQUESTS = 2_000;
const LONGEST_LIFE_MS = 5_000;
/** How long a connection is watched that should be closed by then. */
const WATCHED_MS = 8_000;
/** So many at once do not overflow the queue of connections that wait to be accepted. */
const OPENED_AT_ONCE = 100;
const SPARE_FILES = 100;

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
  },
});
const requests = Number(values.requests);
const seed = Number(values.seed);
if (!(Number.isInteger(requests) && requests > 0))
  throw new RangeError('--requests must be a whole number from 1 on');
if (!Number.isInteger(seed)) throw new RangeError('--seed must be a whole number');
requireFiles(IDLE_SOCKETS + SPARE_FILES);

await using gateway = await startGateway();
let hasExited = false;
void gateway.exited().then(() => {
  hasExited = true;
});
const wrong: string[] = [];

await proveVolley();
// A gateway that is gone closes everything, and fast.
if (!hasCrashed()) await proveLives();
if (!hasCrashed()) await measureIdle();

if (hasCrashed()) wrong.push('the gateway lives');
wrong.push(...logFaults(gateway.output()).map((line) => `the log holds no faults: ${line}`));
for (const each of wrong) console.log(`NOT SO, ${each}`);
if (wrong.length === 0) console.log('unharmed');
process.exitCode = wrong.length === 0 ? 0 : 1;

/** It may still be on its way out. */
function hasCrashed(): boolean {
  return hasExited || gateway.output().includes('"event":"crashed"');
}

/** Node has raised its limit as far as it may, and the gateway inherits it. */
function requireFiles(needed: number): void {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const [, allowed = ''] = /^Max open files +(\w+)/m.exec(limits) ?? [];
  if (Number(allowed) < needed) {
    throw new Error(`this needs ${needed} open files and may have ${allowed}: ulimit -n ${needed}`);
  }
}

async function proveVolley(): Promise<void> {
  console.log(`${requests} hostile requests of seed ${seed}\n`);
  const [rssBefore, filesBefore] = [rssMiB(), openFiles()];
  const startedMs = performance.now();
  const result = await volley(gateway.url, hostileRequests(seed, requests), {
    patienceMs: LONGEST_LIFE_MS,
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const filesLeft = await settled(() => openFiles() - filesBefore);
  const counts: Row = {
    requests: String(result.requests),
    crashes: hasCrashed() ? '1' : '0',
    ...Object.fromEntries(FAULTS.map((fault) => [fault, String(result.faults[fault])])),
    'connections left': String(filesLeft),
    seconds: seconds.toFixed(1),
    'RSS before': `${rssBefore} MiB`,
    'RSS after': `${rssMiB()} MiB`,
  };
  printTable(Object.entries(counts).map(([what, figure]) => ({ 'the volley': what, figure })));
  console.log();
  printTable(histogramOf(result));
  console.log();
  wrong.push(...result.offences.map(offenceLine));
  if (filesLeft > 0) wrong.push(`every connection is let go of: ${filesLeft} are not`);
}

/** What is left after a few seconds, or nothing as soon as there is nothing. */
async function settled(left: () => number): Promise<number> {
  for (const endMs = Date.now() + LONGEST_LIFE_MS; Date.now() < endMs && left() > 0; )
    await new Promise((resolve) => setTimeout(resolve, 50));
  return Math.max(0, left());
}

function histogramOf({ requests: total, firstAnswers }: VolleyResult): Row[] {
  const entries = [...firstAnswers].sort(([a], [b]) => a.localeCompare(b));
  return entries.map(([answer, count]) => ({
    'first answer': answer,
    times: String(count),
    share: `${((100 * count) / total).toFixed(2)} %`,
  }));
}

function rssMiB(): number {
  // An ended process has no memory, and soon no file either.
  if (hasExited) return 0;
  return Math.round(residentBytes(gateway.pid) / 1024 / 1024);
}

function openFiles(): number {
  return hasExited ? 0 : readdirSync(`/proc/${gateway.pid}/fd`).length;
}

async function proveLives(): Promise<void> {
  const [proxies, operators] = await Promise.all([
    livesOn('for proxies', gateway.url),
    livesOn('for operators', gateway.opsUrl),
  ]);
  const rows = Object.keys(operators).map((connection) => ({
    connection,
    'port for proxies': proxies[connection] ?? '',
    'port for operators': operators[connection] ?? '',
  }));
  printTable(rows);
  console.log();
}

/** What became of each connection that never asks. */
async function livesOn(port: string, url: string): Promise<Record<string, string>> {
  const lives = { silent: silentLifeMs, 'slow headers': slowLifeMs };
  const closed = Object.entries(lives).map(async ([name, lifeMs]) => {
    const life = await lifeMs(url, WATCHED_MS);
    // Proxies connect before they have a use for it.
    const mayStay = name === 'silent' && port === 'for proxies';
    if (life > LONGEST_LIFE_MS && !mayStay) wrong.push(`the port ${port} closes in time: ${name}`);
    return [name, life < WATCHED_MS ? `closed after ${Math.round(life)} ms` : 'left open'] as const;
  });
  const names = (Object.keys(LINGERERS) as LingererName[]).filter(
    (name) => name !== 'silent' || port !== 'for proxies',
  );
  const letGo = names.map(async (name) => {
    const isGone = await isLetGoOf(url, name, LONGEST_LIFE_MS);
    if (!isGone) wrong.push(`the port ${port} lets go of what the client never closes: ${name}`);
    return [`${name}, never closed by the client`, isGone ? 'let go of' : 'kept'] as const;
  });
  return Object.fromEntries(await Promise.all([...closed, ...letGo]));
}

interface Latency {
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** Rounds with and without idle connections take turns, so that a noisy machine is noisy for both. */
async function measureIdle(): Promise<void> {
  await measureLatency();
  const without: Latency[] = [];
  const among: Latency[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    without.push(await measureLatency());
    const idle = await openIdle();
    among.push(await measureLatency());
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
}

function latencyRow(idle: string, rounds: readonly Latency[]): Row {
  return {
    'idle connections': idle,
    'p50 us': spread(rounds.map(({ p50Micros }) => p50Micros)),
    'p99 us': spread(rounds.map(({ p99Micros }) => p99Micros)),
  };
}

async function measureLatency(): Promise<Latency> {
  const socket = await connected();
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

/** Each has been answered once, and keeps its connection as proxies do. */
async function openIdle(): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < IDLE_SOCKETS) {
    const added = Array.from({ length: OPENED_AT_ONCE }, async (_, i) => {
      const socket = await connected();
      await ask(socket, sockets.length + i);
      return socket;
    });
    sockets.push(...(await Promise.all(added)));
  }
  return sockets;
}

async function connected(): Promise<Socket> {
  const socket = connect(gateway.port, new URL(gateway.url).hostname).setNoDelay();
  await once(socket.setEncoding('latin1'), 'connect');
  return socket;
}

/** An ordinary request of one of many clients: none of them reaches a limit. */
async function ask(socket: Socket, client: number): Promise<void> {
  const address = `10.78.${(client >> 8) & 255}.${client & 255}`;
  socket.write(
    `GET /envoy/a HTTP/1.1\r\nHost: shop.example\r\nX-Headgate-Client-IP: ${address}\r\n\r\n`,
  );
  let text = '';
  // What allows has no body.
  while (!text.endsWith('\r\n\r\n')) text += String((await once(socket, 'data'))[0]);
  if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(`an ordinary request got ${text}`);
}

async function closed(socket: Socket): Promise<void> {
  const close = once(socket, 'close');
  socket.resume().end();
  await close;
}
