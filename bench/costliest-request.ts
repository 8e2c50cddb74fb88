/**
 * Which request costs the gateway most, and how much more is that than a plain request of as many bytes?
 *
 * For each field that a client controls, and each length, a search in this process finds the value that costs most. A
 * real gateway then gets that request and a plain one in turns, over HTTP, and its CPU time is compared. Exits with 1
 * when a request costs more than a millisecond, or more than twelve times the plain one. `node bench/costliest-request.ts
 * path` looks at fields with that in their name.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createCheck, UNOBSERVED } from '../src/gateway/core/check.ts';
import type { Dialect, ProxyCall } from '../src/gateway/core/dialect.ts';
import { NO_OVERRIDES } from '../src/gateway/core/overrides.ts';
import { caddy } from '../src/gateway/dialects/caddy.ts';
import { envoy } from '../src/gateway/dialects/envoy.ts';
import { ingressNginx } from '../src/gateway/dialects/ingress-nginx.ts';
import { nginx } from '../src/gateway/dialects/nginx.ts';
import { traefik } from '../src/gateway/dialects/traefik.ts';
import { MemoryStore } from '../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../test/support/policies.ts';
import { SALTS } from '../test/support/requests.ts';
import { median, printTable } from '../tools/table.ts';
import { COSTLY_FIELDS, COSTLY_POLICIES, type CostlyField } from './support/costly-fields.ts';
import { searchCostliest } from './support/costly-search.ts';
import { cpuMicrosOf } from './support/cpu.ts';
import { createLab, type Server } from './support/lab.ts';
import { machineLine } from './support/machine.ts';

const DIALECTS: Readonly<Record<string, Dialect>> = {
  envoy,
  nginx,
  caddy,
  traefik,
  'ingress-nginx': ingressNginx,
};
const MOST_TIMES = 12;
const MOST_MICROS = 1_000;
const ROUNDS = 5;
const ROUND_MS = 300;
/** What the gateway takes, and what the greatest of our proxies lets through. */
const HEADER_COUNTS = [50, 100, 200, 250, 2_000, 9_000];

await using lab = createLab();
const gateway = await lab.gateway(COSTLY_POLICIES);
const policies = policySetFrom(COSTLY_POLICIES);
const check = createCheck({
  store: new MemoryStore({ now: Date.now, maxKeys: 100_000 }),
  local: { take: () => never(), record: () => {} },
  salts: { at: () => SALTS },
  overrides: { current: NO_OVERRIDES },
  newId: () => '0f6e2d9c41ab-1',
  observer: UNOBSERVED,
});

console.log(`${machineLine()}; the median of ${ROUNDS} rounds, each of both requests in turn.\n`);
const rows = [];
const [wanted = ''] = process.argv.slice(2);
for (const field of COSTLY_FIELDS.filter(({ name }) => name.includes(wanted))) {
  for (const length of field.lengths) rows.push(await compare(field, length));
}
for (const count of 'header lines'.includes(wanted) ? HEADER_COUNTS : [])
  rows.push(await compareHeaders(count));
printTable(rows.map(({ row }) => row));
if (rows.some(({ isTooCostly }) => isTooCostly)) process.exitCode = 1;

async function compare(field: CostlyField, length: number) {
  const dialect = DIALECTS[field.dialect] as Dialect;
  const { value } = searchCostliest(field, length, (call) => {
    const decision = check(dialect.parse(call), policies, Date.now());
    if (!(decision instanceof Promise)) dialect.render(decision, policies.answers, call.headers);
  });
  const costly = bytesOf(dialect, field.call(value));
  // As many bytes in the same place, with nothing in them to read twice.
  const plain = bytesOf(dialect, field.call('a'.repeat(length)));
  return measured(`${field.name}, ${length}`, value.slice(0, 40), { costly, plain });
}

async function compareHeaders(count: number) {
  const line = (i: number) => `${i.toString(36)}:\r\n`;
  const many = Array.from({ length: count }, (_, i) => line(i)).join('');
  const call = COSTLY_FIELDS[0]?.call('') as ProxyCall;
  const costly = bytesOf(envoy, call, many);
  const plain = bytesOf(envoy, call, `x: ${'a'.repeat(Math.max(1, many.length - 5))}\r\n`);
  return measured(`${count} header lines`, line(count), { costly, plain });
}

async function measured(
  name: string,
  shown: string,
  { costly, plain }: Record<'costly' | 'plain', Buffer>,
) {
  const costs: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const cost = await cpuMicrosPerRequest(gateway, costly);
    costs.push(cost);
    times.push(cost / (await cpuMicrosPerRequest(gateway, plain)));
  }
  const row = {
    'field, bytes': name,
    'CPU us/request': median(costs).toFixed(0),
    'times a plain one': median(times).toFixed(1),
    'begins with': JSON.stringify(shown).replaceAll('|', '\\|'),
  };
  return { row, isTooCostly: median(costs) > MOST_MICROS || median(times) > MOST_TIMES };
}

function bytesOf(dialect: Dialect, { method, target, headers }: ProxyCall, lines = ''): Buffer {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `${method} ${dialect.mount}${target} HTTP/1.1\r\n${fields.join('')}${lines}\r\n`;
  return Buffer.from(text, 'latin1');
}

/** One request at a time on eight connections: a gateway that refuses may close them. */
async function cpuMicrosPerRequest({ pid, url }: Server, request: Buffer): Promise<number> {
  const endMs = Date.now() + ROUND_MS;
  const before = cpuMicrosOf(pid);
  const counts = await Promise.all(Array.from({ length: 8 }, () => askUntil(endMs, url, request)));
  return (cpuMicrosOf(pid) - before) / counts.reduce((sum, count) => sum + count, 0);
}

async function askUntil(endMs: number, url: string, request: Buffer): Promise<number> {
  const { port, hostname } = new URL(url);
  let count = 0;
  let socket: Socket | undefined;
  while (Date.now() < endMs) {
    if (socket === undefined || socket.destroyed || socket.readableEnded) {
      socket = connect(Number(port), hostname).on('error', () => {});
      await once(socket, 'connect');
    }
    socket.write(request);
    await answered(socket);
    count++;
  }
  socket?.destroy();
  return count;
}

/** Or closed. */
function answered(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      socket.off('data', end).off('close', end);
      resolve();
    };
    socket.on('data', end).on('close', end);
  });
}

function never(): never {
  throw new Error('nothing fails over in this process');
}
