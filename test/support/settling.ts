/** Policies that charge afterwards, and a store that notes what is settled. */
import type { Afterwards } from '../../src/gateway/core/counting/outcome.ts';
import type { Reservation } from '../../src/gateway/core/counting/reservation.ts';
import type {
  SettledState,
  Settlement,
  SettlementStore,
} from '../../src/gateway/core/counting/settlement.ts';
import {
  compilePolicy,
  type Limit,
  type LimitDefinition,
  type Policy,
} from '../../src/gateway/core/policy.ts';
import { NOON_MS } from './requests.ts';

export const REFUND: Afterwards = {
  unit: undefined,
  reserve: undefined,
  unknown: undefined,
  refund: { status: new Set([204]), headers: new Map(), locations: new Set() },
};
const TOKENS: Afterwards = {
  unit: 'tokens',
  reserve: 500,
  unknown: 8_000,
  refund: undefined,
};

export function limitOf(parts: Partial<LimitDefinition> = {}): LimitDefinition {
  const limit = parts.limit ?? 100_000;
  return {
    algorithm: 'sliding-window-counter',
    limit,
    windowMs: 3_600_000,
    window: '1h',
    burst: limit,
    countRejected: false,
    per: 'api_key',
    afterwards: TOKENS,
    ...parts,
  };
}

interface PolicyParts {
  readonly name?: string;
  readonly limits?: readonly LimitDefinition[];
  readonly plans?: Readonly<Record<string, readonly LimitDefinition[]>>;
  readonly prefixes?: readonly number[];
  readonly onStoreFailure?: Policy['onStoreFailure'];
}

export function settlingPolicy(parts: PolicyParts = {}): Policy {
  const { name = 'completions', limits = [limitOf()], plans = {}, prefixes = [56, 48] } = parts;
  return compilePolicy(
    {
      ...{ name, limits, cost: 1, onStoreFailure: parts.onStoreFailure ?? 'local' },
      plans: new Map(Object.entries(plans)),
    },
    {
      unverified: 10,
      widerNetworks: prefixes.map((prefixBits, i) => ({ prefixBits, factor: 8 ** (i + 1) })),
    },
  );
}

/** `u.` and 22 characters. */
export const partition = (kind: string, name: string) => `${kind}.${name.padEnd(22, '-')}`;
export const ALICE = partition('k', 'alice');

export function reservation(limits: readonly Limit[], mode: Reservation['mode'] = 'enforced') {
  const parts = limits.map((limit) => ({
    ...{ limit, partition: ALICE, units: 500, momentMs: NOON_MS },
  }));
  return { momentMs: NOON_MS, mode, parts } satisfies Reservation;
}

interface TestStore extends SettlementStore {
  readonly settled: Settlement[];
  fails: Error | undefined;
  states: SettledState[];
  cut: number;
}

/** `fails` is what it rejects with, as long as that is set. */
export function settlementStore() {
  const marks = new Set<string>();
  const store: TestStore = {
    settled: [],
    fails: undefined,
    states: [],
    cut: 0,
    async settle(settlement) {
      if (store.fails !== undefined) throw store.fails;
      const { id, parts } = settlement;
      const isRepeated = marks.has(id);
      marks.add(id);
      if (!isRepeated) store.settled.push(settlement);
      return {
        parts: parts.map((_, i) => ({
          state: isRepeated ? 'repeated' : (store.states[i] ?? 'settled'),
          cut: store.cut,
        })),
      };
    },
  };
  return store;
}
