/**
 * Counts clients by their numbers, as a memory store does by keys. A replay stores nothing, so it needs no names that can be
 * stored, and a number is found faster than a text.
 */
import { decide } from '../../../gateway/core/counting/decision.ts';
import { descriptor, type LimitDescriptor } from '../../../gateway/core/counting/descriptor.ts';
import { changesCount, type QuotaState } from '../../../gateway/core/counting/store.ts';
import { GLOBAL_PARTITION } from '../../../gateway/core/identity/partition.ts';
import type { Limit } from '../../../gateway/core/policy.ts';
import { NEW_METER } from '../../../gateway/stores/memory/memory-store.ts';
import { type Meter, MeterTable } from '../../../gateway/stores/memory/meter.ts';
import { getOrAdd } from '../maps.ts';

export type Meters = MeterTable<Meter, number>;

/** Half of what a Map can hold. Expired meters leave, so only clients of the last window count. */
const MAX_METERS = 8_000_000;
/** All clients have the same number. */
const GLOBAL = -1;

/** One limit. A take calls `fits`, and then `record` for the same request. */
class CountedLimit {
  readonly descriptor: LimitDescriptor;
  readonly #meters: Meters;
  /** The place of the number: 0 for the client's own, 1 for its next wider network, and so on; or GLOBAL. */
  readonly #network: number;
  #number = GLOBAL;
  #known: Meter | undefined;
  #meter: Meter;

  constructor(limit: Limit, network: number, meters: Meters) {
    this.descriptor = descriptor(limit, network === GLOBAL ? GLOBAL_PARTITION : '');
    this.#meters = meters;
    this.#network = network;
    this.#meter = this.#newMeter();
  }

  fits(numbers: readonly number[], nowMs: number): boolean {
    this.#number = this.#network === GLOBAL ? GLOBAL : (numbers[this.#network] ?? GLOBAL);
    this.#known = this.#meters.get(this.#number);
    this.#meter = this.#known ?? this.#newMeter();
    return this.#meter.fits(this.descriptor, nowMs);
  }

  record(nowMs: number, admitted: boolean): QuotaState {
    const state = this.#meter.record(this.descriptor, nowMs, admitted);
    if (this.#known === undefined && changesCount(this.descriptor, admitted)) {
      this.#meters.add(this.#number, this.#meter);
      this.#meters.evict(1, nowMs);
    }
    return state;
  }

  #newMeter(): Meter {
    const { quota } = this.descriptor;
    return NEW_METER[quota.algorithm](quota);
  }
}

/** Limits that are counted together: all of them, or none. */
export class CountedLimits {
  readonly descriptors: readonly LimitDescriptor[];
  readonly #limits: readonly CountedLimit[];

  /**
   * `meters` are by the suffix of the store key, because limits with the same suffix share their counts. `isWide`: also
   * counts the wider networks of IPv6 addresses.
   */
  constructor(limits: readonly Limit[], meters: Map<string, Meters>, isWide: boolean) {
    this.#limits = limits.flatMap((limit) => {
      const metersOf = getOrAdd(meters, limit.keySuffix, () => new MeterTable(MAX_METERS));
      if (limit.per === 'global') return [new CountedLimit(limit, GLOBAL, metersOf)];
      const networks = isWide ? [limit, ...limit.wider] : [limit];
      return networks.map((each, i) => new CountedLimit(each, i, metersOf));
    });
    this.descriptors = this.#limits.map((each) => each.descriptor);
  }

  /** Takes from all limits or from none. `numbers` are those of the client and its wider networks. Returns the denial, if it is one. */
  take(numbers: readonly number[], nowMs: number) {
    let admitted = true;
    for (const each of this.#limits) if (!each.fits(numbers, nowMs)) admitted = false;
    if (admitted) {
      for (const each of this.#limits) each.record(nowMs, true);
      return undefined;
    }
    const states = this.#limits.map((each) => each.record(nowMs, false));
    const { descriptors } = this;
    return decide([{ descriptors, result: { admitted, states, nowMs }, mode: 'enforced' }]);
  }
}
