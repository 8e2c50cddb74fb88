/**
 * Counts in a Redis Cluster. A script call may use the keys of one slot only, so every slot has its own store and batches.
 *
 * A request with keys in several slots takes from one slot after the other, narrowest limit first. No limit is ever
 * exceeded. If a later slot denies the request, the units taken from earlier slots stay taken, except those of limits that
 * charge afterwards: they are given back after the answer, as a settlement. Slots with refunds come last,
 * so that no request gets units back and is denied by a slot without refunds. Slots with equal limits keep their order, so
 * the previous name of a client comes before its current one: it has all counts and denies first.
 */
import { randomUUID } from 'node:crypto';
import type { RedisTarget } from '../../config/settings/redis-url.ts';
import {
  MAX_SETTLE_WITHIN_MS,
  type SettledPart,
  type Settlement,
  type SettlementStore,
  type SettleResult,
} from '../../core/counting/settlement.ts';
import {
  type Descriptor,
  type PeekResult,
  type QuotaReader,
  type QuotaState,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../core/counting/store.ts';
import { EarlierSlots } from './earlier-slots.ts';
import { withDeadline } from './failures.ts';
import { createInFlight, RedisStore, type RedisStoreOptions } from './redis-store.ts';
import { bySlot, narrowestFirst } from './slots.ts';

interface ClusterStoreOptions extends RedisStoreOptions {
  /** Gets what could not be given back. Settle it until that succeeds, or it ends. */
  readonly onUnsettled?: (settlement: Settlement) => void;
}

interface StoreOptions extends Omit<ClusterStoreOptions, 'inFlight'> {
  readonly maxInFlight: number;
}

export function storeOfTarget({ kind }: RedisTarget, { maxInFlight, ...rest }: StoreOptions) {
  const inFlight = createInFlight(maxInFlight);
  const options = { ...rest, inFlight, settlementsInFlight: createInFlight(maxInFlight) };
  return kind === 'cluster' ? new ClusterStore(options) : new RedisStore(options);
}

export class ClusterStore implements QuotaStore, QuotaReader, SettlementStore {
  readonly #options: ClusterStoreOptions;
  readonly #stores = new Map<number, RedisStore>();

  constructor(options: ClusterStoreOptions) {
    this.#options = options;
  }

  async take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    const groups = bySlot(descriptors);
    const [only, ...others] = groups;
    if (only === undefined || others.length === 0) {
      return this.#storeOf(only?.slot ?? 0).take(descriptors);
    }
    const { deadlineMs, onError } = this.#options;
    const endMs = performance.now() + deadlineMs;
    const progress: Progress = { endMs, denial: undefined };
    const taken = this.#takeSlotBySlot(descriptors, groups.sort(narrowestFirst), progress);
    try {
      return await withDeadline(taken, deadlineMs);
    } catch (cause) {
      // A slot that failed afterwards makes no denial an answer without the store.
      if (progress.denial !== undefined) return progress.denial;
      // Every slot was in time but all of them together were not. The stores of the slots report their own errors.
      if (performance.now() >= endMs) onError?.('timeout', cause, 1);
      throw cause;
    }
  }

  async peek(descriptors: readonly Descriptor[]): Promise<PeekResult> {
    const states = new Map<Descriptor, QuotaState | undefined>();
    let nowMs = 0;
    const readings = bySlot(descriptors).map(async ({ slot, members: group }) => {
      const result = await this.#storeOf(slot).peek(group);
      for (const [i, descriptor] of group.entries()) states.set(descriptor, result.states[i]);
      nowMs = Math.max(nowMs, result.nowMs);
    });
    await Promise.all(readings);
    return { states: descriptors.map((each) => states.get(each) as QuotaState), nowMs };
  }

  async reset(keys: readonly string[], settled?: readonly string[]): Promise<void> {
    await this.#storeOf(0).reset(keys, settled);
  }

  /** Each slot has its own mark. If one slot fails, the others have settled, and answer `repeated` the next time. */
  async settle({ parts, ...settlement }: Settlement): Promise<SettleResult> {
    const results = new Map<SettledPart, PartResult>();
    const slots = bySlot(parts).map(async ({ slot, members }) => {
      const result = await this.#storeOf(slot).settle({ ...settlement, parts: members });
      for (const [i, part] of members.entries()) results.set(part, result.parts[i] as PartResult);
    });
    const failed = (await Promise.allSettled(slots)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    return { parts: parts.map((part) => results.get(part) as PartResult) };
  }

  async #takeSlotBySlot(
    descriptors: readonly Descriptor[],
    groups: ReturnType<typeof bySlot<Descriptor>>,
    progress: Progress,
  ): Promise<TakeResult> {
    const states = new Map<Descriptor, QuotaState>();
    const earlier = new EarlierSlots();
    let nowMs = 0;
    let admitted = true;
    const result = (): TakeResult => ({
      admitted,
      states: descriptors.map((each) => stateOf(states.get(each), admitted)),
      nowMs,
    });
    const take = async (slot: number, group: readonly Descriptor[]): Promise<void> => {
      // The request is no longer waiting, so it must not take from further slots.
      if (performance.now() >= progress.endMs)
        throw new StoreError('timeout', 'the slots of the cluster took too long');
      const given = group.map((each) => earlier.descriptorFor(each, !admitted));
      const result = await this.#storeOf(slot).take(given, earlier.onDebt);
      for (const [i, descriptor] of group.entries()) {
        const state = result.states[i] as QuotaState;
        const taken = result.admitted ? given[i]?.cost : state.taken;
        if (descriptor.givesBack) states.set(descriptor, { ...state, takenAtMs: result.nowMs });
        else states.set(descriptor, taken === undefined ? state : { ...state, taken });
        if (taken !== undefined) earlier.took(descriptor, taken, result.nowMs);
      }
      nowMs = result.nowMs;
      admitted &&= result.admitted;
    };
    for (const { slot, members: group } of groups) {
      if (admitted) {
        await take(slot, group);
        if (admitted) continue;
        progress.denial = result();
        this.#giveBack(earlier.owed, nowMs);
      } else {
        // A denied request takes from later slots what it takes of itself.
        for (const each of group) if (earlier.leaves(each)) await take(slot, [each]);
      }
    }
    return result();
  }

  /** The denial does not wait for it. */
  #giveBack(parts: readonly SettledPart[], nowMs: number): void {
    if (parts.length === 0) return;
    const settlement = { id: randomUUID(), endsMs: nowMs + MAX_SETTLE_WITHIN_MS, parts };
    this.settle(settlement).catch(() => this.#options.onUnsettled?.(settlement));
  }

  #storeOf(slot: number): RedisStore {
    let store = this.#stores.get(slot);
    if (store === undefined) {
      store = new RedisStore(this.#options);
      this.#stores.set(slot, store);
    }
    return store;
  }
}

/** The units that an admitted request took are its cost, so its states do not list them. */
function stateOf(state: QuotaState | undefined, admitted: boolean): QuotaState | undefined {
  if (state === undefined || !admitted) return state;
  const { taken: _none, ...rest } = state;
  return rest;
}

type PartResult = SettleResult['parts'][number];

interface Progress {
  readonly endMs: number;
  denial: TakeResult | undefined;
}
