/** Judges recorded traffic against an exact sliding window. It shares no code with the gateway. */

export interface Recorded {
  readonly admitted: boolean;
  /** Milliseconds since the epoch. The gateway decided between the two. */
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** One client's traffic: the answers, and when Redis counted. */
export interface ClientRecord {
  readonly requests: readonly Recorded[];
  /** Other requests, which Redis did not decide in time. Each may have been counted. */
  readonly unmeasured: number;
  /** When each admission was counted, in the order of Redis. */
  readonly stampsMs: readonly number[];
}

export interface Verdict {
  readonly requests: number;
  readonly admissions: number;
  readonly denials: number;
  readonly unmeasured: number;
  /** The most admissions in any window of any client. */
  readonly fullestWindow: number;
  /** Admissions that ended a window with more than the limit in it. */
  readonly windowsOver: number;
  readonly wrongDenials: number;
  /** Admissions that clients saw and Redis did not count. */
  readonly uncounted: number;
  /** Admissions that Redis counted without a request. */
  readonly overcounted: number;
  /** Admissions whose stamp is before the stamp of the one before. */
  readonly disordered: number;
}

export function judge(clients: readonly ClientRecord[], limit: number, windowMs: number): Verdict {
  const sum = (of: (client: ClientRecord) => number) =>
    clients.reduce((total, client) => total + of(client), 0);
  const admissions = sum(admissionsOf);
  const requests = sum((client) => client.requests.length);
  const windows = clients.map(({ stampsMs }) => unitsOfWindows(stampsMs, windowMs));
  return {
    requests,
    admissions,
    denials: requests - admissions,
    unmeasured: sum(({ unmeasured }) => unmeasured),
    fullestWindow: windows.flat().reduce((most, units) => Math.max(most, units), 0),
    windowsOver: windows.flat().filter((units) => units > limit).length,
    wrongDenials: sum((client) => wrongDenials(client.requests, client.stampsMs, limit, windowMs)),
    uncounted: sum((client) => Math.max(0, -excessOf(client))),
    overcounted: sum((client) => Math.max(0, excessOf(client) - client.unmeasured)),
    disordered: sum(
      ({ stampsMs }) => stampsMs.filter((ms, i) => ms < (stampsMs[i - 1] ?? 0)).length,
    ),
  };
}

function admissionsOf({ requests }: ClientRecord): number {
  return requests.filter(({ admitted }) => admitted).length;
}

function excessOf(client: ClientRecord): number {
  return client.stampsMs.length - admissionsOf(client);
}

/** The most that any window of this length holds, wherever it starts. Stamps are in ascending order. */
export function fullestWindow(stampsMs: readonly number[], windowMs: number): number {
  return unitsOfWindows(stampsMs, windowMs).reduce((most, units) => Math.max(most, units), 0);
}

/** For every stamp, the admissions in the window that ends with it. It excludes the moment one window ago. */
function unitsOfWindows(stampsMs: readonly number[], windowMs: number): number[] {
  let start = 0;
  return stampsMs.map((stampMs, end) => {
    while ((stampsMs[start] ?? 0) <= stampMs - windowMs) start++;
    return end - start + 1;
  });
}

/**
 * Denials of requests that the limit allowed at every moment between request and answer. The gateway may have decided at
 * any of these moments, so a denial is wrong only if the window was full at none of them.
 */
export function wrongDenials(
  requests: readonly Recorded[],
  stampsMs: readonly number[],
  limit: number,
  windowMs: number,
): number {
  const full = intervalsWithoutRoom(stampsMs, limit, windowMs);
  return requests.filter(({ admitted, sentMs, answeredMs }) => {
    if (admitted) return false;
    const next = full[firstEndingAfter(full, sentMs)];
    return next === undefined || next[0] > answeredMs;
  }).length;
}

type Interval = readonly [fromMs: number, toMs: number];

/** A window is full from the stamp that fills it until its oldest unit expires. In ascending order. */
function intervalsWithoutRoom(
  stampsMs: readonly number[],
  limit: number,
  windowMs: number,
): Interval[] {
  const intervals: Interval[] = [];
  for (let i = limit - 1; i < stampsMs.length; i++) {
    const fromMs = stampsMs[i] ?? 0;
    const toMs = (stampsMs[i - limit + 1] ?? 0) + windowMs;
    if (fromMs < toMs) intervals.push([fromMs, toMs]);
  }
  return intervals;
}

function firstEndingAfter(intervals: readonly Interval[], moment: number): number {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((intervals[middle]?.[1] ?? 0) > moment) high = middle;
    else low = middle + 1;
  }
  return low;
}

const TIMES = 2 ** 32;
const HALF = TIMES / 2;

/**
 * The moment that an entry of a log stands for, in milliseconds since the epoch. Entries of requests that cost one unit
 * are that moment modulo 2^32, less 2^31; when the entry was seen tells the rest.
 */
export function stampOf(entry: number, seenMs: number): number {
  if (!Number.isInteger(entry) || entry < -HALF || entry >= HALF) {
    throw new RangeError(`${entry} is no log entry of a request that costs one unit`);
  }
  // From half a period before the moment when it was seen to half a period after it.
  const behindMs = (((seenMs - (entry + HALF) + HALF) % TIMES) + TIMES) % TIMES;
  return seenMs - (behindMs - HALF);
}
