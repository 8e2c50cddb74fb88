/**
 * Counts in a Redis Cluster: a script call reaches one slot, so there is one lane of batches for each.
 *
 * A request whose keys lie in several slots is taken from one after the other, narrowest limit first. No limit is ever
 * exceeded, but a denial by a later slot leaves what an earlier one has given.
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

export class ClusterStore implements QuotaStore, QuotaReader {
  readonly #options: RedisStoreOptions;
  readonly #lanes = new Map<number, RedisStore>();

  constructor(options: RedisStoreOptions) {
    this.#options = options;
  }

  async take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    const groups = bySlot(descriptors);
    const [only, ...others] = groups;
    if (only === undefined || others.length === 0) {
      return this.#lane(only?.slot ?? 0).take(descriptors);
    }
    const { deadlineMs, onError } = this.#options;
    const endMs = performance.now() + deadlineMs;
    const taken = this.#takeInTurn(descriptors, groups.sort(narrowestFirst), endMs);
    try {
      return await withDeadline(taken, deadlineMs);
    } catch (cause) {
      // Each lane was in time, all together were not; what a lane has to report it has reported.
      if (performance.now() >= endMs) onError?.('timeout', cause);
      throw cause;
    }
  }

  async peek(descriptors: readonly Descriptor[]): Promise<PeekResult> {
    const states = new Map<Descriptor, QuotaState | undefined>();
    let nowMs = 0;
    const readings = bySlot(descriptors).map(async ({ slot, descriptors: asked }) => {
      const result = await this.#lane(slot).peek(asked);
      for (const [i, descriptor] of asked.entries()) states.set(descriptor, result.states[i]);
      nowMs = Math.max(nowMs, result.nowMs);
    });
    await Promise.all(readings);
    return { states: descriptors.map((each) => states.get(each) as QuotaState), nowMs };
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#lane(0).reset(keys);
  }

  async #takeInTurn(
    descriptors: readonly Descriptor[],
    groups: readonly SlotGroup[],
    endMs: number,
  ): Promise<TakeResult> {
    const states = new Map<Descriptor, QuotaState | undefined>();
    let nowMs = 0;
    let admitted = true;
    for (const { slot, descriptors: asked } of groups) {
      // Nobody waits for it any more, so it must not go on taking.
      if (performance.now() >= endMs) throw new StoreError('timeout', 'the slots took too long');
      const result = await this.#lane(slot).take(asked);
      for (const [i, descriptor] of asked.entries()) states.set(descriptor, result.states[i]);
      nowMs = result.nowMs;
      admitted = result.admitted;
      if (!admitted) break;
    }
    return { admitted, states: descriptors.map((each) => states.get(each)), nowMs };
  }

  #lane(slot: number): RedisStore {
    let lane = this.#lanes.get(slot);
    if (lane === undefined) {
      lane = new RedisStore(this.#options);
      this.#lanes.set(slot, lane);
    }
    return lane;
  }
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

/** By the fewest requests that a limit of the group lets through over time: it is the likeliest to deny. */
function narrowestFirst(a: SlotGroup, b: SlotGroup): number {
  return lowestRate(a) - lowestRate(b);
}

function lowestRate({ descriptors }: SlotGroup): number {
  return Math.min(...descriptors.map(({ quota, cost }) => quota.limit / cost / quota.windowMs));
}
