/**
 * Measures latency under open-loop load. It is a separate program, so that its work is not counted as work of the
 * server: takes LatencyOptions as JSON, prints a LatencyResult as JSON.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { headerOf, type Outcome, percentile, startLoad } from '../../tools/load/open-loop.ts';

export interface LatencyOptions {
  readonly url: string;
  readonly requestsPerSecond: number;
  readonly seconds: number;
  readonly clients: number;
}

export interface LatencyResult {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers other than 200. */
  readonly errors: number;
  /** Answers of a gateway that did not hear from Redis in time. */
  readonly unmeasured: number;
}

const PATIENCE_MS = 10_000;
/** Until this program is compiled and its connections are open, it sends late: those requests are left out. */
const WARM_UP_SECONDS = 0.5;

const { url, requestsPerSecond, seconds, clients } = JSON.parse(
  process.argv[2] ?? '',
) as LatencyOptions;
const { origin, pathname } = new URL(url);
const outcomes: Outcome[] = [];
const load = startLoad({
  url: origin,
  perSecond: requestsPerSecond,
  request: (i) => {
    const client = i % clients;
    const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
    const headers = { 'x-headgate-client-ip': address, 'x-headgate-peer-ip': address };
    return { path: pathname, headers };
  },
  onOutcome: (outcome) => outcomes.push(outcome),
  patienceMs: PATIENCE_MS,
  isPrecise: true,
});
await sleep((WARM_UP_SECONDS + seconds) * 1_000);
await load.stop();

const measured = outcomes.filter(({ i }) => i >= requestsPerSecond * WARM_UP_SECONDS);
const unanswered = measured.find(({ status }) => status === 0);
if (unanswered !== undefined) throw new Error(`a request has no answer: ${unanswered.error}`);
const tookMs = measured.map((outcome) => outcome.tookMs);
const result: LatencyResult = {
  p50Ms: percentile(tookMs, 0.5),
  p90Ms: percentile(tookMs, 0.9),
  p99Ms: percentile(tookMs, 0.99),
  maxMs: percentile(tookMs, 1),
  errors: measured.filter(({ status }) => status !== 200).length,
  unmeasured: measured.filter((outcome) => headerOf(outcome, 'x-ratelimit-mode') !== undefined)
    .length,
};
console.log(JSON.stringify(result));
