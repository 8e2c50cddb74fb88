/**
 * Measures latency under open-loop load. A separate program, so that its work is not counted as work of the server:
 * takes OpenLoopDriverOptions as JSON, prints an Applied as JSON.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { headerOf, type Outcome, startLoad } from '../../tools/load/open-loop.ts';
import { type Applied, latencyOf } from './load.ts';
import type { OpenLoopDriverOptions } from './open-loop.ts';

const PATIENCE_MS = 10_000;
/** Until this program is compiled and its connections are open, it sends late. Latency of those requests is left out. */
const WARM_UP_SECONDS = 0.5;
/** Neighbours in time are no neighbours in memory. A prime, as in clients.lua. */
const STEP = 7_919;

const { url, requestsPerSecond, seconds, clients, balancer, mustCount, refusedAs } = JSON.parse(
  process.argv[2] ?? '',
) as OpenLoopDriverOptions;
const { origin, pathname } = new URL(url);
const path = balancer === undefined ? pathname : '/api/items?id=1';
const first = Math.floor(Math.random() * clients);
const run = `${Date.now().toString(16).slice(-8)}-0000-4000-8000`;
const outcomes: Outcome[] = [];

function headersOf(i: number): Record<string, string> {
  const client = (first + i * STEP) % clients;
  const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
  if (balancer !== undefined) return { 'x-forwarded-for': address };
  return {
    'x-headgate-client-ip': address,
    'x-headgate-peer-ip': address,
    'x-headgate-request-id': `${run}-${String(i).padStart(12, '0')}`,
  };
}

const load = startLoad({
  url: origin,
  localAddress: balancer,
  perSecond: requestsPerSecond,
  request: (i) => ({ path, headers: headersOf(i) }),
  onOutcome: (outcome) => outcomes.push(outcome),
  patienceMs: PATIENCE_MS,
  isPrecise: true,
});
await sleep((WARM_UP_SECONDS + seconds) * 1_000);
await load.stop();

const isRefused = ({ status }: Outcome) => status === refusedAs;
const unexpected = outcomes.find((outcome) => outcome.status !== 200 && !isRefused(outcome));
if (unexpected !== undefined) {
  throw new Error(`an answer is ${unexpected.status}: ${unexpected.error ?? unexpected.head}`);
}
const isCounted = (outcome: Outcome) =>
  headerOf(outcome, 'x-ratelimit-limit') !== undefined &&
  headerOf(outcome, 'x-ratelimit-mode') === undefined;
const uncounted = mustCount
  ? outcomes.find((each) => !isRefused(each) && !isCounted(each))
  : undefined;
if (uncounted !== undefined) throw new Error(`an answer does not count: ${uncounted.head}`);

const measured = outcomes.filter(({ i }) => i >= requestsPerSecond * WARM_UP_SECONDS);
const applied: Applied = {
  requests: outcomes.length,
  requestsPerSecond,
  latency: {
    ...latencyOf(measured.map((outcome) => outcome.tookMs)),
    unmeasured: measured.filter((each) => headerOf(each, 'x-ratelimit-mode') !== undefined).length,
    refused: measured.filter(isRefused).length,
  },
};
console.log(JSON.stringify(applied));
