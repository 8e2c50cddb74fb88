/**
 * Random traffic for two stores that must answer alike: every algorithm, changing limits and costs, checks, refunds, costs
 * above the limit, resets.
 */
import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import { CALENDAR_UNITS, Calendar } from '../../../src/gateway/core/counting/calendar.ts';
import {
  ALGORITHMS,
  type Algorithm,
  type Descriptor,
  MAX_FIXED_LIMIT,
  MAX_FIXED_UNITS,
  MAX_LIMIT,
  type PeekResult,
  type Quota,
  type TakeResult,
} from '../../../src/gateway/core/counting/store.ts';
import type { StoreUnderTest } from '../../contract/quota-store.contract.ts';
import { quotaOf } from '../../support/quotas.ts';

export interface Traffic {
  /** How the clock moves between two turns. */
  readonly advanceMs: fc.Arbitrary<number>;
  readonly algorithms: readonly Algorithm[];
  readonly clients: number;
  /** Of fixed windows. Its longest window is the only one of the traffic. */
  readonly calendar?: Calendar;
  /** Long against the test's own duration: Redis forgets keys by its own clock. */
  readonly windowsMs: readonly number[];
  readonly limits?: readonly number[];
  readonly costs?: readonly number[];
  /**
   * Of token buckets. With several, a debt that was paid off at one rate may be owing at another: whether it was
   * forgotten by then is each store's own affair, once it holds other keys.
   */
  readonly bucketLimits: readonly number[];
}

interface Take {
  readonly client: number;
  readonly algorithm: Algorithm;
  readonly windowMs: number;
  readonly limit: number;
  readonly bucketLimit: number;
  readonly burst: number;
  readonly cost: number;
  readonly countRejected: boolean;
  readonly remainder: Quota['remainder'];
}

/** What arrives in one turn of the event loop. */
interface Turn {
  readonly advanceMs: number;
  /** Each with one take for each of its limits. */
  readonly requests: readonly (readonly Take[])[];
  /** The client who is forgiven before. */
  readonly reset: number | undefined;
}

/** The limit of a key changes from take to take, as it does when policies are loaded anew. */
const LIMITS = [1, 2, 3, 5, 9];
/** Traffic has from one to sixty turns. */
const MEAN_TURNS = 30;
const COSTS = [1, 1, 1, 1, 2, 3, 0, -1, -2, 7];

function turns(traffic: Traffic): fc.Arbitrary<Turn[]> {
  const take: fc.Arbitrary<Take> = fc.record({
    client: fc.integer({ min: 1, max: traffic.clients }),
    algorithm: fc.constantFrom(...traffic.algorithms),
    windowMs: fc.constantFrom(...traffic.windowsMs),
    limit: fc.constantFrom(...(traffic.limits ?? LIMITS)),
    burst: fc.constantFrom(...(traffic.limits ?? LIMITS)),
    cost: fc.constantFrom(...(traffic.costs ?? COSTS)),
    bucketLimit: fc.constantFrom(...traffic.bucketLimits),
    countRejected: fc.constantFrom(false, false, false, true),
    remainder: fc.constantFrom(undefined, undefined, 'note', 'take', 'take'),
  });
  const request = fc.uniqueArray(take, { minLength: 1, maxLength: 4, selector: nameOf });
  const turn = fc.record({
    advanceMs: traffic.advanceMs,
    requests: fc.array(request, { minLength: 1, maxLength: 6 }),
    reset: fc.oneof(
      { arbitrary: fc.constant(undefined), weight: 19 },
      fc.integer({ min: 1, max: traffic.clients }),
    ),
  });
  return fc.array(turn, { minLength: 1, maxLength: 60 });
}

function nameOf({ client, algorithm, windowMs }: Take): string {
  return `${client}:${algorithm}:${windowMs}`;
}

function descriptorFor(
  take: Take,
  key: (name: string) => string,
  { calendar }: Traffic,
): Descriptor {
  const { algorithm, windowMs, countRejected } = take;
  // A limit with charges is never a fixed window, and counts no other denied requests.
  const isCharged = !countRejected && algorithm !== 'fixed-window';
  const remainder = isCharged && take.remainder ? { remainder: take.remainder } : {};
  const isBucket = algorithm === 'token-bucket';
  const limit = isBucket ? take.bucketLimit : take.limit;
  const burst = isBucket ? take.burst : limit;
  const quota = quotaOf({
    algorithm,
    limit,
    windowMs,
    burst,
    countRejected,
    calendar,
    ...remainder,
  });
  return { key: key(nameOf(take)), quota, cost: take.cost };
}

/** Every answer of a store to all turns. Turns are not waited for: what is sent first is answered first. */
async function answersOf(
  { store, clock, key }: StoreUnderTest,
  all: readonly Turn[],
  traffic: Traffic,
) {
  const answers: (TakeResult | PeekResult | Promise<TakeResult | PeekResult>)[] = [];
  for (const { advanceMs, requests, reset } of all) {
    clock.nowMs += advanceMs;
    if (reset !== undefined) await store.reset(keysOf(reset, traffic).map(key));
    for (const request of requests) {
      answers.push(store.take(request.map((take) => descriptorFor(take, key, traffic))));
    }
    await new Promise((resolve) => setImmediate(resolve));
    // Who only looks must be told the same, and leave no trace in what comes after.
    const [first] = requests;
    if (first?.length === 1)
      answers.push(store.peek(first.map((take) => descriptorFor(take, key, traffic))));
  }
  return Promise.all(answers);
}

function keysOf(client: number, { algorithms, windowsMs }: Traffic): string[] {
  return algorithms.flatMap((algorithm) =>
    windowsMs.map((windowMs) => `${client}:${algorithm}:${windowMs}`),
  );
}

/** Of the shortest-lived key in any traffic, by the server's clock, it is a third. */
const SHORTEST_LIFE_MS = 1_000;
const MOST_PLAYS = 20;

/**
 * Plays again, in new stores, if the machine took so long that keys may have expired. They expire by the server's clock,
 * which goes on while the clock of the stores stands still.
 */
export async function withinTheLifeOfKeys<T>(play: () => Promise<T>): Promise<T> {
  for (let plays = 0; plays < MOST_PLAYS; plays++) {
    const startedMs = performance.now();
    const result = await play();
    if (performance.now() - startedMs < SHORTEST_LIFE_MS) return result;
  }
  throw new Error(`the machine took a second for a few turns, ${MOST_PLAYS} times`);
}

/** A server that does not have the script yet answers the first take after what was sent later. */
async function loadScript({ store, key }: StoreUnderTest): Promise<void> {
  const quota = quotaOf({ algorithm: 'sliding-window-log', limit: 1, windowMs: SHORTEST_LIFE_MS });
  await store.take([{ key: key(), quota, cost: 1 }]);
}

/** Plays about so many turns. Throws with the shortest traffic that the two stores answer differently. */
export async function expectSameAnswers(
  traffic: Traffic,
  openOne: () => StoreUnderTest,
  openOther: () => StoreUnderTest,
  turnsToPlay: number,
): Promise<void> {
  await loadScript(openOther());
  await fc.assert(
    fc.asyncProperty(turns(traffic), async (all) => {
      const [one, other] = await withinTheLifeOfKeys(() =>
        Promise.all([answersOf(openOne(), all, traffic), answersOf(openOther(), all, traffic)]),
      );
      deepStrictEqual(one, other);
    }),
    { numRuns: Math.ceil(turnsToPlay / MEAN_TURNS) },
  );
}

const HOUR_MS = 3_600_000;

export const FORWARD_MS = fc.oneof(
  fc.constantFrom(0, 0, 0, 1, 60_000, 300_000),
  fc.integer({ min: 0, max: 120_000 }),
);
const ANY_WAY_MS = fc.oneof(FORWARD_MS, fc.constantFrom(-1, -5_000, -120_000));

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Every key expires at a multiple of the step, so that it makes no difference how long the test takes. */
export const EXPIRING_TRAFFICS = [MINUTE_MS, DAY_MS].flatMap((stepMs) =>
  ALGORITHMS.map((algorithm) => ({
    name: `${algorithm}, in steps of ${stepMs} ms`,
    traffic: {
      advanceMs: fc.constantFrom(
        ...[0, 0, 1, 1, 2, 3, 5, 10, 16, 20, 31, 40].map((steps) => steps * stepMs),
        -stepMs,
      ),
      algorithms: [algorithm],
      clients: 1,
      windowsMs: [(stepMs === DAY_MS ? 31 : 30) * stepMs],
      limits: [20],
      bucketLimits: [stepMs === DAY_MS ? 31 : 30],
      costs: [1, 1, 1, 2, 5, 15, -1, -2, -5, -15],
    },
  })),
);

/** Every kind of traffic that stores must agree on, and its share of the turns. */
export const TRAFFICS: readonly {
  readonly name: string;
  readonly share: number;
  readonly traffic: Traffic;
}[] = [
  {
    name: 'all algorithms, limits, windows, costs and resets',
    share: 0.6,
    traffic: {
      advanceMs: FORWARD_MS,
      algorithms: ALGORITHMS,
      clients: 4,
      windowsMs: [60_000, 300_000, 3_600_000],
      bucketLimits: [5],
    },
  },
  // A bucket would pay its debts by the server's clock. One key: see below.
  ...[60_000, 31 * 86_400_000].flatMap((windowMs) =>
    ALGORITHMS.filter((algorithm) => algorithm !== 'token-bucket').map((algorithm) => ({
      name: `up to a million units, ${algorithm} of ${windowMs} ms`,
      share: 0.02,
      traffic: {
        // In steps that a key outlives: it expires by the server's clock, which stands still here.
        advanceMs: fc.constantFrom(0, 1, windowMs / 20, windowMs / 20, -1, -windowMs / 40),
        algorithms: [algorithm],
        clients: 1,
        windowsMs: [windowMs],
        limits: [MAX_LIMIT, MAX_LIMIT - 1, MAX_LIMIT / 2, 3],
        costs: [
          1, 2, 3, 250_000, 499_999, 500_000, 1_000_000, 2_500_000, 0, -1, -250_001, -9_000_000,
        ],
        bucketLimits: [1],
      },
    })),
  ),
  {
    name: 'buckets of up to a million units',
    share: 0.05,
    traffic: {
      advanceMs: FORWARD_MS,
      algorithms: ['token-bucket' as const],
      clients: 1,
      windowsMs: [3_600_000],
      limits: [MAX_LIMIT, MAX_LIMIT - 1, MAX_LIMIT / 2, 3],
      costs: [1, 250_000, 499_999, 500_000, 1_000_000, 2_500_000, 0, -1, -250_001, -9_000_000],
      bucketLimits: [5],
    },
  },
  {
    name: 'fixed windows of up to 2^32 units',
    share: 0.05,
    traffic: {
      advanceMs: FORWARD_MS,
      algorithms: ['fixed-window' as const],
      clients: 1,
      windowsMs: [60_000, 365 * 86_400_000],
      limits: [MAX_FIXED_LIMIT, MAX_FIXED_LIMIT - 1, 2 ** 31, 3],
      costs: [1, 2 ** 31, MAX_FIXED_LIMIT, MAX_FIXED_UNITS, 0, -1, -(2 ** 31), -MAX_FIXED_UNITS],
      bucketLimits: [1],
    },
  },
  ...CALENDAR_UNITS.map((unit) => {
    const calendar = new Calendar(unit, 'Australia/Lord_Howe');
    return {
      name: `windows by the calendar: ${unit}`,
      share: 0.05,
      traffic: {
        advanceMs: fc.constantFrom(
          ...[0, 0, 1, HOUR_MS, 11 * HOUR_MS, 24 * HOUR_MS, 25 * HOUR_MS, 400 * HOUR_MS],
          ...[9_000 * HOUR_MS, -1, -HOUR_MS, -30 * HOUR_MS],
        ),
        algorithms: ['fixed-window' as const],
        clients: 1,
        calendar,
        windowsMs: [calendar.longestMs],
        bucketLimits: [1],
      },
    };
  }),
  // One key: when the clock is set back, each store decides which of several keys it has already forgotten.
  ...ALGORITHMS.map((algorithm) => ({
    name: `clocks that are set back: ${algorithm}`,
    share: 0.1,
    traffic: {
      advanceMs: ANY_WAY_MS,
      algorithms: [algorithm],
      clients: 1,
      windowsMs: [60_000],
      bucketLimits: LIMITS,
    },
  })),
];
