/**
 * Remembers denials. Until a unit is over a denied client stays denied, whoever else asks meanwhile, so there is no
 * need to ask the store: a client that keeps hammering costs it nothing.
 *
 * A denial is remembered for the very same question only (keys, quotas, costs), from when the store was asked, and for
 * half a second at most. What changes the answer before its time is so noticed at once (a new policy file asks a new
 * question; a reset is announced) or within that half second (the store lost its counts, or its clock was set).
 *
 * A remembered wait is what the store said at most half a second ago, less the time since. It is never shorter than the
 * truth of that moment, but leaves out what others have used of a shared limit meanwhile.
 */
import { LRUCache } from 'lru-cache';
import type { Descriptor, QuotaState, QuotaStore, TakeResult } from '../core/store.ts';

export interface DenialCacheOptions {
  readonly store: QuotaStore;
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number;
  readonly maxEntries: number;
  /** Told of every request that the store was not asked about. */
  readonly onRemembered?: () => void;
}

/** A denied client costs the store two requests per second. */
const TRUST_MS = 500;

/** What an entry takes beside its keys, by the heap with 20,000 of them: its place in the cache, and its objects. */
const ENTRY_BYTES = 250;
const DESCRIPTOR_BYTES = 400;
const AVERAGE_ENTRY_BYTES = 1_024;

interface Denial {
  readonly descriptors: readonly Descriptor[];
  readonly result: TakeResult;
  /** When the store's answer arrived. It was true a moment before, so what counts down from here ends no earlier. */
  readonly answeredMs: number;
  readonly trustedUntilMs: number;
  readonly generation: number;
}

export class DenialCache implements QuotaStore {
  readonly #store: QuotaStore;
  readonly #now: () => number;
  readonly #denials: LRUCache<string, Denial>;
  readonly #onRemembered: (() => void) | undefined;
  #enabled = false;
  /** Denials of earlier ones count no more. What was asked in an earlier one may be out of date on arrival. */
  #generation = 0;

  constructor({ store, now, maxEntries, onRemembered }: DenialCacheOptions) {
    this.#store = store;
    this.#now = now;
    this.#onRemembered = onRemembered;
    this.#denials = new LRUCache({ max: maxEntries, maxSize: maxEntries * AVERAGE_ENTRY_BYTES });
  }

  /** From now on resets are announced by calling `forget`. */
  enable(): void {
    this.#enabled = true;
  }

  /** Remembers nothing until it is enabled again. */
  disable(): void {
    this.#enabled = false;
    this.forget();
  }

  /** Costs nothing, however often it is called: the entries go when others need their places. */
  forget(): void {
    this.#generation++;
  }

  take(descriptors: readonly Descriptor[]): TakeResult | Promise<TakeResult> {
    const askedMs = this.#now();
    if (this.#denials.size > 0) {
      const denial = this.#denials.get(questionOf(descriptors));
      if (denial !== undefined && this.#holds(denial, descriptors, askedMs)) {
        this.#onRemembered?.();
        return after(denial, askedMs - denial.answeredMs);
      }
    }
    return this.#ask(descriptors, askedMs);
  }

  #holds(denial: Denial, descriptors: readonly Descriptor[], nowMs: number): boolean {
    return (
      denial.generation === this.#generation &&
      nowMs < denial.trustedUntilMs &&
      isSame(denial, descriptors)
    );
  }

  async #ask(descriptors: readonly Descriptor[], askedMs: number): Promise<TakeResult> {
    const generation = this.#generation;
    const result = await this.#store.take(descriptors);
    if (!result.admitted && this.#enabled && generation === this.#generation) {
      this.#remember(descriptors, result, askedMs);
    }
    return result;
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#store.reset(keys);
    this.forget();
  }

  #remember(descriptors: readonly Descriptor[], result: TakeResult, askedMs: number): void {
    // Every repetition of such a request changes the counts.
    if (descriptors.some(({ quota }) => quota.countRejected)) return;
    const waitMs = Math.max(...result.states.map((state) => state?.retryAfterMs ?? 0));
    // The store counts whole milliseconds: of the first one a part had passed when it was asked.
    const trustedUntilMs = askedMs + Math.min(waitMs - 1, TRUST_MS);
    const question = questionOf(descriptors);
    const answeredMs = this.#now();
    const generation = this.#generation;
    const denial = { descriptors, result, answeredMs, trustedUntilMs, generation };
    const size = ENTRY_BYTES + descriptors.length * DESCRIPTOR_BYTES + question.length;
    this.#denials.set(question, denial, { size });
  }
}

function questionOf(descriptors: readonly Descriptor[]): string {
  const [first] = descriptors;
  if (first !== undefined && descriptors.length === 1) return first.key;
  let question = '';
  for (const { key } of descriptors) question += `${key} `;
  return question;
}

/** A policy file that was read anew has new quotas, even where it says the same. */
function isSame(denial: Denial, descriptors: readonly Descriptor[]): boolean {
  return descriptors.every(({ quota, cost }, i) => {
    const known = denial.descriptors[i];
    return known?.quota === quota && known.cost === cost;
  });
}

/** The denial as it stands so much later. */
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
