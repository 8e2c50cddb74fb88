/** Random takes and settlements: late, twice, in any order, of any size, across resets. */
import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import type { SettledPart } from '../../src/gateway/core/counting/settlement.ts';
import { ALGORITHMS, type Algorithm, type Quota } from '../../src/gateway/core/counting/store.ts';
import { withinTheLifeOfKeys } from '../scenarios/same-answers/run.ts';
import { quotaOf } from '../support/quotas.ts';
import type { StoreUnderTest } from './quota-store.contract.ts';
import { Ledger } from './settlement-ledger.ts';

const W = 300_000;
const LIFE_MS = 3 * W;
/** Every key lives for several seconds after each of them, see `withinTheLifeOfKeys`. */
const STEP_MS = 10_000;
const LIMITS: Readonly<Record<Algorithm, number>> = {
  'sliding-window-log': 6,
  'sliding-window-counter': 12,
  'token-bucket': 30,
  'fixed-window': 12,
};

type Used = 'none' | 'one' | 'all' | 'more' | 'far more';

interface Turn {
  readonly steps: number;
  readonly act: 'take' | 'settle' | 'reset';
  readonly algorithms: readonly Algorithm[];
  readonly units: number;
  /** Which of the requests is settled, counted from the last one. */
  readonly back: number;
  readonly used: Used;
}

function turns(steps: readonly number[], algorithms: readonly Algorithm[]): fc.Arbitrary<Turn[]> {
  const turn = fc.record({
    steps: fc.constantFrom(...steps),
    act: fc.constantFrom(
      ...(['take', 'take', 'take', 'settle', 'settle', 'settle', 'settle'] as const),
      ...(['take', 'settle', 'take', 'reset'] as const),
    ),
    algorithms: fc.subarray([...algorithms], { minLength: 1 }),
    units: fc.constantFrom(1, 1, 1, 2, 3, 5),
    back: fc.constantFrom(0, 0, 1, 2, 3, 5, 8, 13),
    used: fc.constantFrom<Used>('none', 'none', 'none', 'one', 'all', 'more', 'far more'),
  });
  return fc.array(turn, { minLength: 1, maxLength: 50 });
}

const quotas = new Map(
  ALGORITHMS.map((algorithm): [Algorithm, Quota] => [
    algorithm,
    quotaOf({ algorithm, limit: LIMITS[algorithm], windowMs: W }),
  ]),
);

/** A log counts requests. */
function unitsIn(algorithm: Algorithm, units: number): number {
  return algorithm === 'sliding-window-log' ? 1 : units;
}

function usedOf(reserved: number, used: Used, algorithm: Algorithm): number {
  if (algorithm === 'sliding-window-log') return used === 'none' ? 0 : 1;
  if (used === 'none' || used === 'all') return used === 'all' ? reserved : 0;
  return used === 'one' ? 1 : reserved + (used === 'more' ? 2 : 50);
}

type Part = Omit<SettledPart, 'used'>;

interface Playing {
  readonly lifeMs: number;
  readonly judge?: Judge;
}

/** No settlement ends: Redis forgets marks by its own clock, which is never set back here. */
const TIMELESS: Playing = { lifeMs: 86_400_000 };

/** Does it with a store, and returns everything that it says. */
async function play(
  { store, clock, key }: StoreUnderTest,
  all: readonly Turn[],
  { lifeMs, judge }: Playing,
) {
  clock.nowMs = Math.ceil(clock.nowMs / W) * W;
  const answers: unknown[] = [];
  const requests: Part[][] = [];
  const partOf = (algorithm: Algorithm, units: number): Part => ({
    key: key(algorithm),
    quota: quotas.get(algorithm) as Quota,
    momentMs: clock.nowMs,
    reserved: unitsIn(algorithm, units),
  });
  for (const { steps, act, algorithms, units, back, used } of all) {
    clock.nowMs += steps * STEP_MS;
    if (act === 'reset') {
      const keys = algorithms.map(key);
      await store.reset(keys, keys);
      judge?.reset(algorithms, clock.nowMs);
    } else if (act === 'take') {
      const parts = algorithms.map((each) => partOf(each, units));
      const { admitted } = await store.take(
        parts.map(({ reserved, ...part }) => ({ ...part, cost: reserved })),
      );
      if (admitted) requests.push(parts);
      answers.push(admitted);
      judge?.took(parts, admitted, clock.nowMs);
    } else {
      const place = requests.length - 1 - back;
      const [first, ...more] = requests[place] ?? [];
      if (first === undefined) continue;
      const parts = [first, ...more].map((part) => ({
        ...part,
        used: usedOf(part.reserved, used, part.quota.algorithm),
      }));
      const id = `${place}x${key('').length}`;
      const result = await store.settle({ id, endsMs: first.momentMs + lifeMs, parts });
      answers.push(result.parts);
      judge?.settled(id, parts, result.parts, clock.nowMs);
    }
    const peeked = await store.peek(ALGORITHMS.map((each) => ({ ...partOf(each, 1), cost: 1 })));
    const left = peeked.states.map(({ remaining }) => remaining);
    answers.push(left);
    judge?.left(left, clock.nowMs);
  }
  return answers;
}

/** Compares a store with a ledger for each counter. */
class Judge {
  readonly #ledgers = new Map(
    ALGORITHMS.map((each) => [each, new Ledger(quotas.get(each) as Quota)]),
  );
  readonly #settled = new Set<string>();

  took(parts: readonly Part[], admitted: boolean, nowMs: number): void {
    const fits = parts.every(
      ({ quota, reserved }) => this.#ledgerOf(quota).remaining(nowMs) >= reserved,
    );
    deepStrictEqual(admitted, fits);
    if (fits) for (const { quota, reserved } of parts) this.#ledgerOf(quota).take(reserved, nowMs);
  }

  settled(id: string, parts: readonly SettledPart[], answers: unknown, nowMs: number): void {
    const [first] = parts;
    const hasEnded = first !== undefined && first.momentMs + LIFE_MS <= nowMs;
    const refusal = hasEnded ? 'ended' : this.#settled.has(id) ? 'repeated' : undefined;
    this.#settled.add(id);
    const expected = parts.map((part) => {
      if (refusal !== undefined) return { state: refusal, cut: 0 };
      const reservation = { ...part, units: part.reserved };
      return this.#ledgerOf(part.quota).settle(reservation, part.used, nowMs);
    });
    deepStrictEqual(answers, expected);
  }

  reset(algorithms: readonly Algorithm[], nowMs: number): void {
    for (const each of algorithms) this.#ledgers.get(each)?.reset(nowMs);
  }

  left(answers: readonly number[], nowMs: number): void {
    const ledgers = ALGORITHMS.map((each) => this.#ledgers.get(each) as Ledger);
    deepStrictEqual(
      answers,
      ledgers.map((each) => each.remaining(nowMs)),
    );
  }

  #ledgerOf({ algorithm }: Quota): Ledger {
    return this.#ledgers.get(algorithm) as Ledger;
  }
}

const FORWARD = [0, 0, 0, 0, 1, 1, 2, 3, 7, 15, 29, 30, 31, 61];

/** Throws with the shortest traffic after which a count differs from that of the ledger. */
export async function expectLedgerCounts(open: () => StoreUnderTest, runs: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(turns(FORWARD, ALGORITHMS), async (all) => {
      await withinTheLifeOfKeys(() => play(open(), all, { lifeMs: LIFE_MS, judge: new Judge() }));
    }),
    { numRuns: runs },
  );
}

/** Throws with the shortest traffic that the two stores settle differently. Their clocks may be set back. */
export async function expectSameSettlements(
  openOne: () => StoreUnderTest,
  openOther: () => StoreUnderTest,
  runs: number,
): Promise<void> {
  // One counter: when the clock is set back, each store decides which of several it has already forgotten.
  for (const algorithm of ALGORITHMS) {
    await fc.assert(
      fc.asyncProperty(turns([...FORWARD, -1, -1, -2, -7, -31], [algorithm]), async (all) => {
        const [one, other] = await withinTheLifeOfKeys(() =>
          Promise.all([play(openOne(), all, TIMELESS), play(openOther(), all, TIMELESS)]),
        );
        deepStrictEqual(one, other);
      }),
      { numRuns: runs },
    );
  }
}
