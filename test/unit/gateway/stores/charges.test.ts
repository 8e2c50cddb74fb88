/** Charges of the rate limit service at any rate, in virtual time: calls go on being admitted, and nothing is displaced. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Algorithm,
  type Descriptor,
  type Quota,
  unitsNeeded,
} from '../../../../src/gateway/core/counting/store.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { quotaOf } from '../../../support/quotas.ts';

const W = 60_000;
const START = Date.UTC(2026, 0, 1);
const WINDOWS = 14;
const MOST_CALLS = 4_000;

interface Client {
  readonly cost: number;
  /** Between two calls, in parts of a window. */
  readonly gap: number;
  readonly phase: number;
  /** Parts of a gap by which a call may be early or late. */
  readonly jitter: number;
}

interface Case {
  readonly limit: number;
  readonly burst: number;
  readonly seed: number;
  readonly clients: readonly Client[];
}

interface Call {
  readonly atMs: number;
  readonly cost: number;
}

interface Played extends Call {
  readonly admitted: boolean;
  readonly before: number;
  readonly after: number;
}

const limits = fc.constantFrom(1, 2, 3, 5, 10, 17, 40);

function cases(algorithm: Algorithm, costs: (most: number) => fc.Arbitrary<number[]>) {
  return fc
    .record({
      limit: limits,
      burstOf: fc.constantFrom(1, 1, 2, 20),
      seed: fc.nat(),
      clients: fc.integer({ min: 1, max: 4 }),
    })
    .chain(({ limit, burstOf, seed, clients }) => {
      const burst = algorithm === 'token-bucket' ? limit * burstOf : limit;
      const one = fc.record({
        gap: fc.double({ min: 0.015, max: 0.9, noNaN: true }),
        phase: fc.double({ min: 0, max: 1, noNaN: true }),
        jitter: fc.constantFrom(0, 0, 0.1, 0.4),
      });
      return fc.tuple(fc.array(one, { minLength: clients, maxLength: clients }), costs(limit)).map(
        ([all, each]): Case => ({
          ...{ limit, burst, seed },
          clients: all.map((client, i) => {
            const cost = each[i % each.length] as number;
            // Together they ask for more than the limit.
            const gap = cost === 0 ? client.gap : Math.min(client.gap, (0.8 * cost) / limit);
            return { ...client, cost, gap };
          }),
        }),
      );
    });
}

function callsOf({ clients, seed }: Case): Call[] {
  let state = seed >>> 0;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const calls: Call[] = [];
  for (const { cost, gap, phase, jitter } of clients) {
    for (let i = 0; i < MOST_CALLS / clients.length; i++) {
      const at = (phase + i + jitter * (random() - 0.5)) * gap;
      if (at < WINDOWS) calls.push({ atMs: START + Math.floor(at * W), cost });
    }
  }
  return calls.sort((a, b) => a.atMs - b.atMs);
}

function play(algorithm: Algorithm, { limit, burst, ...rest }: Case): Played[] {
  const clock = { nowMs: START };
  const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 100 });
  const quota = quotaOf({ algorithm, limit, burst, windowMs: W });
  const left = () => store.peek([{ key: 'k', quota, cost: 0 }]).states[0]?.remaining ?? 0;
  return callsOf({ limit, burst, ...rest }).map(({ atMs, cost }) => {
    clock.nowMs = atMs;
    const before = left();
    const { admitted } = store.take([charge(quota, cost)]);
    return { atMs, cost, admitted, before, after: left() };
  });
}

function charge(quota: Quota, cost: number): Descriptor {
  return { key: 'k', quota: { ...quota, remainder: cost === 0 ? 'note' : 'take' }, cost };
}

/** The least that is admitted within so many windows, wherever they start after the first one. */
function leastIn(windows: number, played: readonly Played[], unit: (cost: number) => number) {
  const lastMs = played.at(-1)?.atMs ?? 0;
  // A limit ends between two calls.
  const gapMs = Math.max(...played.slice(1).map(({ atMs }, i) => atMs - (played[i]?.atMs ?? 0)));
  const lengthMs = windows * W + gapMs;
  let least = Number.POSITIVE_INFINITY;
  for (let from = START + W; from + lengthMs <= lastMs; from += W / 4) {
    const within = played.filter(({ atMs }) => atMs > from && atMs <= from + lengthMs);
    const passed = within.filter(({ admitted }) => admitted);
    least = Math.min(
      least,
      passed.reduce((sum, { cost }) => sum + unit(cost), 0),
    );
  }
  return least;
}

const oneCost = (most: number) => fc.integer({ min: 1, max: most }).map((cost) => [cost]);
const mixedCosts = (most: number) =>
  fc
    .tuple(
      fc.integer({ min: 1, max: most }),
      fc.array(fc.integer({ min: 0, max: most + 5 }), { minLength: 1, maxLength: 3 }),
    )
    .map(([fits, others]) => [fits, ...others]);

describe.each(['sliding-window-log', 'sliding-window-counter', 'token-bucket'] as const)(
  'charges that ask for more than the limit: %s',
  (algorithm) => {
    test('of one cost, at least half a limit is admitted in every three windows', () => {
      fc.assert(
        fc.property(cases(algorithm, oneCost), (each) => {
          const least = leastIn(3, play(algorithm, each), (cost) => cost);
          expect(least).toBeGreaterThanOrEqual(each.limit / 2);
        }),
        { numRuns: 60 },
      );
    });

    test('of mixed costs, something is admitted in every four windows', () => {
      fc.assert(
        fc.property(cases(algorithm, mixedCosts), (each) => {
          expect(leastIn(4, play(algorithm, each), () => 1)).toBeGreaterThan(0);
        }),
        { numRuns: 60 },
      );
    });

    test('one that does not fit takes all that is left or nothing, and never more often than calls were admitted', () => {
      fc.assert(
        fc.property(cases(algorithm, mixedCosts), (each) => {
          let admitted = 0;
          let remainders = 0;
          for (const call of play(algorithm, each)) {
            if (call.admitted) {
              admitted++;
              expect(call.before).toBeGreaterThanOrEqual(unitsNeeded(call.cost));
              expect(call.after).toBe(call.before - call.cost);
            } else if (call.after !== call.before) {
              remainders++;
              expect(call.after).toBe(0);
            }
          }
          expect(remainders).toBeLessThanOrEqual(admitted);
        }),
        { numRuns: 60 },
      );
    });
  },
);

test('no window of a log ever holds more than the limit, remainders included', () => {
  fc.assert(
    fc.property(cases('sliding-window-log', mixedCosts), (each) => {
      const taken = play('sliding-window-log', each).filter(({ before, after }) => after < before);
      for (const [i, { atMs }] of taken.entries()) {
        let units = 0;
        for (let j = i; j < taken.length && (taken[j] as Played).atMs < atMs + W; j++) {
          const { before, after } = taken[j] as Played;
          units += before - after;
        }
        expect(units).toBeLessThanOrEqual(each.limit);
      }
    }),
    { numRuns: 60 },
  );
});
