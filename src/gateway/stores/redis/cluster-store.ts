/**
 * Counts in a Redis Cluster. A script call may use the keys of one slot only, so every slot has its own store and batches.
 *
 * A request with keys in several slots takes from one slot after the other, narrowest limit first. No limit is ever
 * exceeded. If a later slot denies the request, the units taken from earlier slots stay taken. Slots with refunds come last,
 * so that no request gets units back and is denied by a slot without refunds. Slots with equal limits keep their order, so
 * the previous name of a client comes before its current one: it has all counts and denies first.
 */
import calculateSlot from 'cluster-key-slot';
import type { RedisTarget } from '../../config/settings/redis-url.ts';
import {
  changesCount,
  type Descriptor,
  isCharge,
  type PeekResult,
  type QuotaReader,
  type QuotaState,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../core/counting/store.ts';
import { withDeadline } from './failures.ts';
import { createInFlight, RedisStore, type RedisStoreOptions } from './redis-store.ts';
import type { IndebtedDescriptor } from './take-script.ts';

interface StoreOptions extends Omit<RedisStoreOptions, 'inFlight'> {
  readonly maxInFlight: number;
}

export function storeOfTarget({ kind }: RedisTarget, { maxInFlight, ...rest }: StoreOptions) {
  const options = { ...rest, inFlight: createInFlight(maxInFlight) };
  return kind === 'cluster' ? new ClusterStore(options) : new RedisStore(options);
}

export class ClusterStore implements QuotaStore, QuotaReader {
  readonly #options: RedisStoreOptions;
  readonly #stores = new Map<number, RedisStore>();

  constructor(options: RedisStoreOptions) {
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
    const readings = bySlot(descriptors).map(async ({ slot, descriptors: group }) => {
      const result = await this.#storeOf(slot).peek(group);
      for (const [i, descriptor] of group.entries()) states.set(descriptor, result.states[i]);
      nowMs = Math.max(nowMs, result.nowMs);
    });
    await Promise.all(readings);
    return { states: descriptors.map((each) => states.get(each) as QuotaState), nowMs };
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#storeOf(0).reset(keys);
  }

  async #takeSlotBySlot(
    descriptors: readonly Descriptor[],
    groups: readonly SlotGroup[],
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
        states.set(descriptor, taken === undefined ? state : { ...state, taken });
        if (taken !== undefined) earlier.took(descriptor, taken);
      }
      nowMs = result.nowMs;
      admitted &&= result.admitted;
    };
    for (const { slot, descriptors: group } of groups) {
      if (admitted) {
        await take(slot, group);
        if (!admitted) progress.denial = result();
      } else {
        // A denied request takes from later slots what it takes of itself.
        for (const each of group) if (earlier.leaves(each)) await take(slot, [each]);
      }
    }
    return result();
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

/** What a request did in earlier slots, which the script in a later slot cannot read. */
class EarlierSlots {
  /** What token buckets owed before the take, in units x windowMs. */
  readonly #debts = new Map<string, number>();
  readonly #taken = new Map<string, number>();

  readonly onDebt = ({ key }: Descriptor, debt: number): void => {
    this.#debts.set(key, debt);
  };

  took({ key }: Descriptor, units: number): void {
    this.#taken.set(key, units);
  }

  /** Whether a denied request takes something here. A charge takes as much as under the previous name. */
  leaves(descriptor: Descriptor): boolean {
    if (isCharge(descriptor)) return this.#taken.get(descriptor.previousKey ?? '') !== 0;
    return changesCount(descriptor, false);
  }

  descriptorFor(descriptor: Descriptor, isDenied: boolean): IndebtedDescriptor {
    const { previousKey = '', quota } = descriptor;
    const leastDebt = this.#debts.get(previousKey);
    const units = isDenied && isCharge(descriptor) ? this.#taken.get(previousKey) : undefined;
    if (leastDebt === undefined && units === undefined) return descriptor;
    const charge =
      units === undefined ? {} : { cost: units, quota: { ...quota, remainder: 'taken' as const } };
    return { ...descriptor, ...charge, ...(leastDebt !== undefined && { leastDebt }) };
  }
}

/** The units that an admitted request took are its cost, so its states do not list them. */
function stateOf(state: QuotaState | undefined, admitted: boolean): QuotaState | undefined {
  if (state === undefined || !admitted) return state;
  const { taken: _none, ...rest } = state;
  return rest;
}

interface Progress {
  readonly endMs: number;
  denial: TakeResult | undefined;
}

interface SlotGroup {
  readonly slot: number;
  readonly descriptors: Descriptor[];
}

function bySlot(descriptors: readonly Descriptor[]): SlotGroup[] {
  const groups: SlotGroup[] = [];
  for (const descriptor of descriptors) {
    const slot = calculateSlot(descriptor.key);
    const group = groups.find((each) => each.slot === slot);
    if (group === undefined) groups.push({ slot, descriptors: [descriptor] });
    else group.descriptors.push(descriptor);
  }
  return groups;
}

/** Orders groups by the lowest rate among their limits. The lowest rate is the most likely to deny. */
function narrowestFirst(a: SlotGroup, b: SlotGroup): number {
  return Number(hasRefund(a)) - Number(hasRefund(b)) || lowestRate(a) - lowestRate(b);
}

function hasRefund({ descriptors }: SlotGroup): boolean {
  return descriptors.some(({ cost }) => cost < 0);
}

function lowestRate({ descriptors }: SlotGroup): number {
  return Math.min(
    ...descriptors.map(({ quota, cost }) => quota.limit / Math.max(1, cost) / quota.windowMs),
  );
}
