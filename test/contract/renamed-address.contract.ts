/** Policies for addresses must decide as if addresses kept their names. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { LONG_PERIOD_MS } from '../../src/gateway/core/identity/salts.ts';
import { DerivedSalts } from '../../src/gateway/stores/salts/salt-sources.ts';
import { checkOn } from '../support/check-on.ts';
import { policySetFrom } from '../support/policies.ts';
import { checkRequest } from '../support/requests.ts';
import type { StoreUnderTest } from './quota-store.contract.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Here the names for a day and those for 31 days change. */
const BOTH_MS = Math.ceil(Date.UTC(2026, 10, 22) / LONG_PERIOD_MS) * LONG_PERIOD_MS;

const rate = (...windows: readonly string[]) =>
  fc
    .tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(...windows))
    .map(([limit, window]) => `rate: ${limit}/${window}`);
/** A counter of more than half a day forgets units that are in no window any more, if its window does not divide a day. */
const LIMIT = fc.oneof(
  rate('7min', '1h', '5h', '1d', '2d', '9d'),
  rate('7min', '1h', '5h', '1d').map((each) => `${each}, algorithm: sliding-window-counter`),
  rate('7min', '1h', '5h', '1d', '2d').map((each) => `${each}, algorithm: fixed-window`),
  fc
    .tuple(rate('7min', '1h', '5h', '1d'), fc.integer({ min: 1, max: 30 }))
    .map(([each, burst]) => `${each}, algorithm: token-bucket, burst: ${burst}`),
);

const TRAFFIC = fc.record({
  limits: fc.uniqueArray(LIMIT, {
    minLength: 1,
    maxLength: 3,
    // A policy has one limit for each window and algorithm.
    selector: (text) => text.replace(/rate: \d+|burst.*/g, ''),
  }),
  cost: fc.constantFrom(1, 1, 2, 3),
  boundaryMs: fc.constantFrom(BOTH_MS, BOTH_MS + DAY_MS, BOTH_MS + 5 * DAY_MS),
  beforeMs: fc.integer({ min: 0, max: 2 * DAY_MS }),
  gapsMs: fc.array(
    fc.oneof(
      ...[5_000, HOUR_MS / 6, 5 * HOUR_MS].map((longest) => fc.integer({ min: 0, max: longest })),
    ),
    { minLength: 20, maxLength: 250 },
  ),
});
type Traffic = typeof TRAFFIC extends fc.Arbitrary<infer T> ? T : never;

/**
 * Compares what one address is told with what a limit of all clients tells, which has one name. `hasSlots`: a Redis
 * Cluster counts daily and long names in different slots, so limits of both kinds are not compared.
 */
export async function expectOneName(
  open: () => StoreUnderTest,
  openOther: () => StoreUnderTest,
  { runs, hasSlots }: { readonly runs: number; readonly hasSlots: boolean },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(TRAFFIC, async (traffic) => {
      const policies = policiesOf(traffic, 'ip');
      fc.pre(policies !== undefined);
      const { limits } = policies.fallback;
      fc.pre(!hasSlots || new Set(limits.map(({ isLong }) => isLong)).size === 1);
      const expected = await answers(openOther(), traffic, 'global');
      expect(await answers(open(), traffic, 'ip')).toEqual(expected);
    }),
    { numRuns: runs },
  );
}

/** What each request gets, and what is left of the limit that decided. */
async function answers({ store, clock }: StoreUnderTest, traffic: Traffic, per: string) {
  const { boundaryMs, beforeMs, gapsMs } = traffic;
  const check = checkOn(store, new DerivedSalts(randomUUID()));
  const policies = policiesOf(traffic, per) as NonNullable<ReturnType<typeof policiesOf>>;
  const found: object[] = [];
  clock.nowMs = boundaryMs - beforeMs;
  for (const gapMs of gapsMs) {
    clock.nowMs += gapMs;
    const { verdict, binding } = await check(checkRequest(), policies, clock.nowMs);
    const { limit, remaining } = binding?.state ?? {};
    found.push({ atMs: clock.nowMs - boundaryMs, verdict, limit, remaining });
  }
  return found;
}

/** Undefined if the file has a mistake, such as a bucket that takes longer than 31 days to fill. */
function policiesOf({ limits, cost }: Traffic, per: string) {
  const written = limits.map((limit) => `{ ${limit}, per: ${per} }`).join(', ');
  try {
    return policySetFrom(`{ version: 1, default: { cost: ${cost}, limits: [${written}] } }`);
  } catch {
    return undefined;
  }
}
