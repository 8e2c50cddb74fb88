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
import { getOrAdd } from '../maps.ts';

type Meter = ReturnType<(typeof NEW_METER)['fixed-window']>;

/** In place of the number of a client, for limits that count all clients together. */
const ALL_CLIENTS = 0;
/** Meters that the hand passes for every new one, so that expired meters leave. */
const STEPS_PER_METER = 2;

/** The meters of clients and networks, by their numbers. */
export class Meters {
  readonly #meters: (Meter | undefined)[] = [];
  #hand = 0;

  get(number: number): Meter | undefined {
    return this.#meters[number];
  }

  add(number: number, meter: Meter, nowMs: number): void {
    const meters = this.#meters;
    // V8 keeps an array with large gaps as a slow table.
    while (meters.length <= number) meters.push(undefined);
    for (let steps = 0; steps < STEPS_PER_METER; steps++) {
      this.#hand = (this.#hand + 1) % meters.length;
      if ((meters[this.#hand]?.expiresMs ?? nowMs) <= nowMs) meters[this.#hand] = undefined;
    }
    meters[number] = meter;
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
  #meter: Meter;

  constructor(limit: Limit, meters: Meters, place?: number) {
    this.descriptor = descriptor(limit, place === undefined ? GLOBAL_PARTITION : '');
    this.#meters = meters;
    this.#place = place;
    this.#meter = this.#newMeter();
  }

  fits(client: number, networks: readonly number[], nowMs: number): boolean {
    const place = this.#place;
    if (place !== undefined) this.#number = place < 0 ? client : (networks[place] as number);
    this.#known = this.#meters.get(this.#number);
    this.#meter = this.#known ?? this.#newMeter();
    return this.#meter.fits(this.descriptor, nowMs);
  }

  record(nowMs: number, admitted: boolean): QuotaState {
    const state = this.#meter.record(this.descriptor, nowMs, admitted);
    if (this.#known === undefined && changesCount(this.descriptor, admitted)) {
      this.#meters.add(this.#number, this.#meter, nowMs);
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
      const metersOf = getOrAdd(meters, limit.keySuffix, () => new Meters());
      if (limit.per === 'global') return [new CountedLimit(limit, metersOf)];
      const networks = isWide ? [limit, ...limit.wider] : [limit];
      return networks.map((each, place) => new CountedLimit(each, metersOf, place - 1));
    });
    this.descriptors = this.#limits.map((each) => each.descriptor);
  }

  /**
   * Takes from all limits or from none. `networks` are the numbers of the client's wider networks, narrowest first. Returns
   * the decision if the request is denied.
   */
  take(client: number, networks: readonly number[], nowMs: number) {
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
