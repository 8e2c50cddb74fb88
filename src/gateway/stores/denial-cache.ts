/**
 * Caches denials. A denied client stays denied until the oldest counted unit leaves the window, whatever other clients do
 * in the meantime, unless a refund gives units back. So the store is not called again, and a client that keeps retrying
 * costs it nothing.
 *
 * A cached denial answers only a request with the same keys, quotas and costs. It is valid from the moment when the store
 * was called, for half a second at most. Changes are therefore seen at once (a new policy file has new quotas; a reset is
 * announced; a settlement of this gateway) or within half a second (a refund or a settlement of another gateway, the store
 * lost its counts, or its clock was set).
 *
 * A cached wait is what the store said at most half a second ago, minus the time since then. It is never shorter than
 * the true wait at that moment, but it does not include what other clients of a shared limit have used since.
 */
import { LRUCache } from 'lru-cache';
import type { Settlement, SettlementStore, SettleResult } from '../core/counting/settlement.ts';
import type { Descriptor, QuotaState, QuotaStore, TakeResult } from '../core/counting/store.ts';

export interface DenialCacheOptions {
  readonly store: QuotaStore & SettlementStore;
  readonly now: () => number;
  readonly maxEntries: number;
  readonly onRemembered?: () => void;
}

/** How long a denial is cached: a denied client costs the store two requests per second. */
const TRUST_MS = 500;

/** Memory of an entry without its keys, measured on the heap with 20,000 entries. */
const ENTRY_BYTES = 250;
const DESCRIPTOR_BYTES = 400;
const AVERAGE_ENTRY_BYTES = 1_024;

/** Keys with settlements that are told apart. When there are more, all denials are forgotten once. */
const MAX_SETTLED_KEYS = 10_000;

interface Denial {
  readonly descriptors: readonly Descriptor[];
  readonly result: TakeResult;
  /** When the store's answer arrived. Waits that are counted down from here never end too early. */
  readonly answeredMs: number;
  readonly trustedUntilMs: number;
  readonly generation: number;
  /** The settlements that had been answered when the store was called. */
  readonly settlements: number;
}

export class DenialCache implements QuotaStore, SettlementStore {
  readonly #store: QuotaStore & SettlementStore;
  readonly #now: () => number;
  readonly #denials: LRUCache<string, Denial>;
  readonly #onRemembered: (() => void) | undefined;
  #enabled = false;
  /** Increases with every reset. Denials, and answers to calls, of earlier generations may be out of date. */
  #generation = 0;
  #settlements = 0;
  /** By key, the number of its latest settlement. Denials of earlier calls may be out of date. */
  readonly #settled = new Map<string, number>();

  constructor({ store, now, maxEntries, onRemembered }: DenialCacheOptions) {
    this.#store = store;
    this.#now = now;
    this.#onRemembered = onRemembered;
    this.#denials = new LRUCache({ max: maxEntries, maxSize: maxEntries * AVERAGE_ENTRY_BYTES });
  }

  enable(): void {
    this.#enabled = true;
  }

  disable(): void {
    this.#enabled = false;
    this.forget();
  }

  /** Invalidates all entries at no cost. They are replaced when new entries need their places. */
  forget(): void {
    this.#generation++;
  }

  take(descriptors: readonly Descriptor[]): TakeResult | Promise<TakeResult> {
    const calledMs = this.#now();
    if (this.#denials.size > 0) {
      // A denial is renewed every half second, so the order in which they came is that of their use.
      const denial = this.#denials.peek(cacheKeyOf(descriptors));
      if (denial !== undefined && this.#holds(denial, descriptors, calledMs)) {
        this.#onRemembered?.();
        return after(denial, calledMs - denial.answeredMs);
      }
    }
    return this.#call(descriptors, calledMs);
  }

  #holds(denial: Denial, descriptors: readonly Descriptor[], nowMs: number): boolean {
    return (
      denial.generation === this.#generation &&
      nowMs < denial.trustedUntilMs &&
      isSame(denial, descriptors) &&
      (this.#settled.size === 0 || !descriptors.some((each) => this.#isSettled(each, denial)))
    );
  }

  #isSettled({ key, givesBack }: Descriptor, { settlements }: Denial): boolean {
    return givesBack === true && (this.#settled.get(key) ?? 0) > settlements;
  }

  #call(descriptors: readonly Descriptor[], calledMs: number): TakeResult | Promise<TakeResult> {
    const called = { calledMs, generation: this.#generation, settlements: this.#settlements };
    const remember = (result: TakeResult) => {
      if (!result.admitted && this.#enabled && called.generation === this.#generation) {
        this.#remember(descriptors, result, called);
      }
      return result;
    };
    const taken = this.#store.take(descriptors);
    return taken instanceof Promise ? taken.then(remember) : remember(taken);
  }

  async reset(keys: readonly string[], settled?: readonly string[]): Promise<void> {
    await this.#store.reset(keys, settled);
    this.forget();
  }

  settle(settlement: Settlement): SettleResult | Promise<SettleResult> {
    const settled = this.#store.settle(settlement);
    // Whether it succeeds or not: the store may have settled although it did not answer in time.
    const forget = () => this.#forgetDenialsOf(settlement);
    if (settled instanceof Promise) settled.then(forget, forget);
    else forget();
    return settled;
  }

  #forgetDenialsOf({ parts }: Settlement): void {
    if (this.#settled.size > MAX_SETTLED_KEYS) {
      this.#settled.clear();
      this.forget();
    }
    this.#settlements++;
    for (const { key, reserved, used } of parts)
      if (used < reserved) this.#settled.set(key, this.#settlements);
  }

  #remember(descriptors: readonly Descriptor[], result: TakeResult, called: Called): void {
    // Every such request changes the counts, so the store must see it.
    if (descriptors.some(changesWhenDenied)) return;
    const waitMs = Math.max(...result.states.map((state) => state?.retryAfterMs ?? 0));
    // The store counts whole milliseconds. Part of the first one had passed when it was called.
    const trustedUntilMs = called.calledMs + Math.min(waitMs - 1, TRUST_MS);
    const cacheKey = cacheKeyOf(descriptors);
    const answeredMs = this.#now();
    const { generation, settlements } = called;
    const denial = { descriptors, result, answeredMs, trustedUntilMs, generation, settlements };
    const size = ENTRY_BYTES + descriptors.length * DESCRIPTOR_BYTES + cacheKey.length;
    this.#denials.set(cacheKey, denial, { size });
  }
}

interface Called extends Pick<Denial, 'generation' | 'settlements'> {
  readonly calledMs: number;
}

function changesWhenDenied({ quota: { countRejected, remainder } }: Descriptor): boolean {
  return countRejected || remainder === 'take';
}

function cacheKeyOf(descriptors: readonly Descriptor[]): string {
  const [first] = descriptors;
  if (first !== undefined && descriptors.length === 1) return first.key;
  let cacheKey = '';
  for (const { key } of descriptors) cacheKey += `${key} `;
  return cacheKey;
}

/** A reloaded policy file has new quota objects, even if it is unchanged. */
function isSame(denial: Denial, descriptors: readonly Descriptor[]): boolean {
  return descriptors.every(({ quota, cost }, i) => {
    const known = denial.descriptors[i];
    return known?.quota === quota && known.cost === cost;
  });
}

function after({ result }: Denial, laterMs: number): TakeResult {
  const elapsedMs = Math.max(0, Math.floor(laterMs));
  const states = result.states.map(
    (state): QuotaState | undefined =>
      state && {
        ...state,
        resetAfterMs: Math.max(0, state.resetAfterMs - elapsedMs),
        retryAfterMs: Math.max(0, state.retryAfterMs - elapsedMs),
      },
  );
  return { admitted: false, states, nowMs: result.nowMs + elapsedMs };
}
