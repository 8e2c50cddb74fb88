/**
 * Counts clients by their numbers, as a memory store does by keys. A replay stores nothing, so it needs no names that can be
 * stored, and a number is found faster than a text.
 */
import { decide } from '../../../gateway/core/counting/decision.ts';
import { descriptor, type LimitDescriptor } from '../../../gateway/core/counting/descriptor.ts';
import { changesCount, type Quota, type QuotaState } from '../../../gateway/core/counting/store.ts';
import { GLOBAL_PARTITION } from '../../../gateway/core/identity/partition.ts';
import type { Limit } from '../../../gateway/core/policy.ts';
import { NEW_METER } from '../../../gateway/stores/memory/memory-store.ts';
import { getOrAdd } from '../maps.ts';

type Meter = ReturnType<(typeof NEW_METER)['fixed-window']>;

/** In place of the number of a client, for limits that count all clients together. */
const ALL_CLIENTS = 0;
/** Meters that the hand passes for every new one, so that expired meters leave. */
const STEPS_PER_METER = 2;

/** The meters of clients and networks, by their numbers. */
export class Meters {
  readonly #quota: Quota;
  readonly #meters: (Meter | undefined)[] = [];
  /** Expired meters equal new ones. A million clients that come and go need few, and the collector has less to do. */
  readonly #expired: Meter[] = [];
  #hand = 0;
  #steps = 0;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  get(number: number): Meter | undefined {
    return this.#meters[number];
  }

  unused(): Meter {
    return this.#expired.pop() ?? NEW_METER[this.#quota.algorithm](this.#quota);
  }

  add(number: number, meter: Meter): void {
    // V8 keeps an array with large gaps as a slow table.
    while (this.#meters.length <= number) this.#meters.push(undefined);
    this.#meters[number] = meter;
    this.#steps += STEPS_PER_METER;
  }

  /** Takes expired meters out. Call it between two takes: the meters of a take must stay where they are. */
  sweep(nowMs: number): void {
    for (; this.#steps > 0; this.#steps--) {
      this.#hand = (this.#hand + 1) % this.#meters.length;
      const passed = this.#meters[this.#hand];
      if (passed === undefined || passed.expiresMs > nowMs) continue;
      this.#meters[this.#hand] = undefined;
      this.#expired.push(passed);
    }
  }
}

/** One limit. A take calls `fits`, and then `record` for the same request. */
class CountedLimit {
  readonly descriptor: LimitDescriptor;
  readonly #meters: Meters;
  /** Counts the client itself at -1, its wider networks from 0, and all clients together if it is undefined. */
  readonly #place: number | undefined;
  #number = ALL_CLIENTS;
  #known: Meter | undefined;
  #unused: Meter;

  constructor(limit: Limit, meters: Meters, place?: number) {
    this.descriptor = descriptor(limit, place === undefined ? GLOBAL_PARTITION : '');
    this.#meters = meters;
    this.#place = place;
    this.#unused = meters.unused();
  }

  fits(client: number, networks: readonly number[], nowMs: number): boolean {
    const place = this.#place;
    if (place !== undefined) this.#number = place < 0 ? client : (networks[place] as number);
    this.#known = this.#meters.get(this.#number);
    return (this.#known ?? this.#unused).fits(this.descriptor, nowMs);
  }

  record(nowMs: number, admitted: boolean): QuotaState {
    const state = (this.#known ?? this.#unused).record(this.descriptor, nowMs, admitted);
    if (this.#known === undefined && changesCount(this.descriptor, admitted)) {
      this.#meters.add(this.#number, this.#unused);
      this.#unused = this.#meters.unused();
    }
    return state;
  }
}

/** Limits that are counted together: all of them, or none. */
export class CountedLimits {
  readonly descriptors: readonly LimitDescriptor[];
  readonly #limits: readonly CountedLimit[];
  readonly #tables: readonly Meters[];

  /**
   * `meters` are by the suffix of the store key, because limits with the same suffix share their counts. `isWide`: also
   * counts the wider networks of IPv6 addresses.
   */
  constructor(limits: readonly Limit[], meters: Map<string, Meters>, isWide: boolean) {
    this.#limits = limits.flatMap((limit) => {
      const metersOf = getOrAdd(meters, limit.keySuffix, () => new Meters(limit.quota));
      if (limit.per === 'global') return [new CountedLimit(limit, metersOf)];
      const networks = isWide ? [limit, ...limit.wider] : [limit];
      return networks.map((each, place) => new CountedLimit(each, metersOf, place - 1));
    });
    this.#tables = [...new Set(limits.map(({ keySuffix }) => meters.get(keySuffix) as Meters))];
    this.descriptors = this.#limits.map((each) => each.descriptor);
  }

  /**
   * Takes from all limits or from none. `networks` are the numbers of the client's wider networks, narrowest first. Returns
   * the decision if the request is denied.
   */
  take(client: number, networks: readonly number[], nowMs: number) {
    for (const table of this.#tables) table.sweep(nowMs);
    let admitted = true;
    for (const each of this.#limits) if (!each.fits(client, networks, nowMs)) admitted = false;
    if (admitted) {
      for (const each of this.#limits) each.record(nowMs, true);
      return undefined;
    }
    const states = this.#limits.map((each) => each.record(nowMs, false));
    const { descriptors } = this;
    return decide([{ descriptors, result: { admitted, states, nowMs }, mode: 'enforced' }]);
  }
}
