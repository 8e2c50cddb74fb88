import type { Redis } from 'ioredis';
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { withDeadline } from '../../../gateway/stores/redis/failures.ts';
import { REPLY_TIMEOUT_MS } from './contact.ts';
import { fine, warning } from './diagnostics.ts';

const ROUND_TRIPS = 50;
/** If round trips take long, there are fewer of them. */
const MAX_TOTAL_MS = 2_000;
const TOLERATED_SKEW_MS = 1_000;

export interface PaceOptions {
  readonly client: Redis;
  readonly storeTimeoutMs: number;
  readonly now: () => number;
}

type RoundTrip = Awaited<ReturnType<typeof roundTrip>>;

export async function* paceFindings(options: PaceOptions): AsyncGenerator<Diagnostic> {
  const { storeTimeoutMs } = options;
  // The first round trip is slower, because code is compiled.
  await roundTrip(options);
  const trips: RoundTrip[] = [];
  const endMs = performance.now() + MAX_TOTAL_MS;
  do trips.push(await roundTrip(options));
  while (trips.length < ROUND_TRIPS && performance.now() < endMs);
  trips.sort((a, b) => a.durationMs - b.durationMs);

  const [shortest, median, longest] = [trips[0], trips[trips.length >> 1], trips.at(-1)];
  if (shortest === undefined || median === undefined || longest === undefined) return;
  yield clockFinding(shortest.aheadMs);
  const times = `round trips take ${shown(median.durationMs)} (median) to ${shown(longest.durationMs)} (worst of ${trips.length})`;
  yield longest.durationMs > storeTimeoutMs / 2
    ? warning(
        `${times}, more than half of HEADGATE_STORE_TIMEOUT_MS (${storeTimeoutMs}): move the gateways closer to Redis, or raise it`,
      )
    : fine(`${times}, HEADGATE_STORE_TIMEOUT_MS is ${storeTimeoutMs}`);
}

function clockFinding(aheadMs: number): Diagnostic {
  const apart = Math.abs(aheadMs);
  if (apart <= TOLERATED_SKEW_MS) return fine('its clock agrees with the clock of this machine');
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return warning(
    `its clock is ${(apart / 1_000).toFixed(1)} s ${side} this machine's: resets in answers use the one, salts change by the other; synchronize both with NTP`,
  );
}

/** Sends TIME, because gateways have the right to it anyway. */
async function roundTrip({ client, now }: PaceOptions) {
  const startedMs = performance.now();
  const sentAtMs = now();
  const [seconds, microseconds] = await withDeadline(client.time(), REPLY_TIMEOUT_MS);
  const durationMs = performance.now() - startedMs;
  const serverMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  // The server's clock was read about half-way through the round trip.
  return { durationMs, aheadMs: serverMs - (sentAtMs + durationMs / 2) };
}

function shown(durationMs: number): string {
  return `${durationMs.toFixed(durationMs < 10 ? 1 : 0)} ms`;
}
