/**
 * Counts in a Redis Cluster. A script call may use the keys of one slot only, so every slot has its own store and batches.
 *
 * A request with keys in several slots takes from one slot after the other, narrowest limit first. No limit is ever
 * exceeded. If a later slot denies the request, the units taken from earlier slots stay taken. Slots with refunds come last,
 * so that no request gets units back and is denied by a slot without refunds. Slots with equal limits keep their order, so
 * the previous name of a client comes before its current one: it has all counts and denies first.
 */
import calculateSlot from 'cluster-key-slot';
import {
  type Descriptor,
  type PeekResult,
  type QuotaReader,
  type QuotaState,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../core/store.ts';
import { withDeadline } from './deadline.ts';
import { RedisStore, type RedisStoreOptions } from './redis-store.ts';
import type { IndebtedDescriptor } from './take-script.ts';

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
    const taken = this.#takeSlotBySlot(descriptors, groups.sort(narrowestFirst), endMs);
    try {
      return await withDeadline(taken, deadlineMs);
    } catch (cause) {
      // Every slot was in time but all of them together were not. The stores of the slots report their own errors.
      if (performance.now() >= endMs) onError?.('timeout', cause);
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
    endMs: number,
  ): Promise<TakeResult> {
    const states = new Map<Descriptor, QuotaState | undefined>();
    const debts = new Debts();
    let nowMs = 0;
    let admitted = true;
    for (const { slot, descriptors: group } of groups) {
      // The request is no longer waiting, so it must not take from further slots.
      if (performance.now() >= endMs)
        throw new StoreError('timeout', 'the slots of the cluster took too long');
      const result = await this.#storeOf(slot).take(group.map(debts.inherited), debts.onDebt);
      for (const [i, descriptor] of group.entries()) states.set(descriptor, result.states[i]);
      nowMs = result.nowMs;
      admitted = result.admitted;
      if (!admitted) break;
    }
    return { admitted, states: descriptors.map((each) => states.get(each)), nowMs };
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

/** The debts of token buckets before a take, in units x windowMs. A slot cannot read those of another. */
class Debts {
  readonly #byKey = new Map<string, number>();

  readonly onDebt = ({ key, quota, cost }: Descriptor, debt: number): void => {
    this.#byKey.set(key, Math.max(0, debt - cost * quota.windowMs));
  };

  readonly inherited = (descriptor: Descriptor): IndebtedDescriptor => {
    const leastDebt = this.#byKey.get(descriptor.previousKey ?? '');
    return leastDebt === undefined ? descriptor : { ...descriptor, leastDebt };
  };
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
