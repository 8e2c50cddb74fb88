/** How far a server's clock is from this machine's, and how long it takes to answer. */
import type { Redis } from 'ioredis';
import { withDeadline } from '../stores/redis/deadline.ts';
import { REPLY_TIMEOUT_MS } from './contact.ts';
import { fine, type PlacedFinding, warning } from './finding.ts';

const ROUND_TRIPS = 50;
/** Over a long way there are fewer. */
const ALL_WITHIN_MS = 2_000;
const TOLERATED_SKEW_MS = 1_000;

export interface PaceOptions {
  readonly client: Redis;
  /** How long a request waits for Redis at most. */
  readonly storeTimeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface RoundTrip {
  readonly durationMs: number;
  /** How far the server is ahead, had its answer been half of the way. */
  readonly aheadMs: number;
}

export async function* paceFindings(options: PaceOptions): AsyncGenerator<PlacedFinding> {
  const { storeTimeoutMs } = options;
  // The first pays for what is compiled on the way.
  await roundTrip(options);
  const trips: RoundTrip[] = [];
  const endMs = performance.now() + ALL_WITHIN_MS;
  do trips.push(await roundTrip(options));
  while (trips.length < ROUND_TRIPS && performance.now() < endMs);
  trips.sort((a, b) => a.durationMs - b.durationMs);

  const [shortest, median, longest] = [trips[0], trips[trips.length >> 1], trips.at(-1)];
  if (shortest === undefined || median === undefined || longest === undefined) return;
  yield clockFinding(shortest.aheadMs);
  const times = `round trips take ${shown(median.durationMs)} (median) to ${shown(longest.durationMs)} (worst of ${trips.length})`;
  yield longest.durationMs > storeTimeoutMs / 2
    ? warning(
        `${times}, more than half of HEADGATE_STORE_TIMEOUT_MS (${storeTimeoutMs}): move gateways nearer, or raise it`,
      )
    : fine(`${times}, HEADGATE_STORE_TIMEOUT_MS is ${storeTimeoutMs}`);
}

function clockFinding(aheadMs: number): PlacedFinding {
  const apart = Math.abs(aheadMs);
  if (apart <= TOLERATED_SKEW_MS) return fine('the clock is that of this machine');
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return warning(
    `the clock is ${(apart / 1_000).toFixed(1)} s ${side} this machine's: resets in answers go by the one, midnights of salts by the other; set both by NTP`,
  );
}

/** By TIME, which gateways need anyway. */
async function roundTrip({ client, now }: PaceOptions): Promise<RoundTrip> {
  const startedMs = performance.now();
  const sentAtMs = now();
  const [seconds, microseconds] = await withDeadline(client.time(), REPLY_TIMEOUT_MS);
  const durationMs = performance.now() - startedMs;
  const serverMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  return { durationMs, aheadMs: serverMs - (sentAtMs + durationMs / 2) };
}

function shown(durationMs: number): string {
  return `${durationMs.toFixed(durationMs < 10 ? 1 : 0)} ms`;
}
