/** Counts in this process. It is also the model for the Redis script: tests compare every answer of the two. */
import type {
  SettledPart,
  Settlement,
  SettlementStore,
  SettleResult,
} from '../../core/counting/settlement.ts';
import {
  type Algorithm,
  changesCount,
  type Descriptor,
  isCharge,
  type PeekResult,
  type Quota,
  type QuotaReader,
  type QuotaState,
  type QuotaStore,
  type TakeResult,
} from '../../core/counting/store.ts';
import { FixedWindow } from './fixed-window.ts';
import { type IndebtedRequest, type Meter, MeterTable } from './meter.ts';
import { Remainders } from './remainders.ts';
import { Settled } from './settled.ts';
import { TokenBucket } from './token-bucket.ts';
import { WindowCounter } from './window-counter.ts';
import { WindowLog } from './window-log.ts';

export interface MemoryStoreOptions {
  readonly now: () => number;
  /** Keys that were not used lately are evicted. */
  readonly maxKeys: number;
}

export const NEW_METER: Readonly<Record<Algorithm, (quota: Quota) => Meter>> = {
  'sliding-window-log': ({ windowMs }) => new WindowLog(windowMs),
  'sliding-window-counter': ({ windowMs }) => new WindowCounter(windowMs),
  'token-bucket': () => new TokenBucket(),
  'fixed-window': () => new FixedWindow(),
};

export class MemoryStore implements QuotaStore, QuotaReader, SettlementStore {
  readonly #now: () => number;
  readonly #meters: MeterTable<Meter>;
  readonly #remainders: Remainders;
  readonly #settled: Settled;

  constructor({ now, maxKeys }: MemoryStoreOptions) {
    this.#now = now;
    this.#meters = new MeterTable(maxKeys);
    this.#remainders = new Remainders(maxKeys);
    this.#settled = new Settled(maxKeys);
  }

  get size(): number {
    return this.#meters.size;
  }

  has(key: string): boolean {
    return this.#meters.get(key) !== undefined;
  }

  take(descriptors: readonly Descriptor[]): TakeResult {
    return this.#count(descriptors, false);
  }

  /** Counts a request that another store has admitted, even if it exceeds the limit here. */
  record(descriptors: readonly Descriptor[]): void {
    this.#count(descriptors, true);
  }

  peek(descriptors: readonly Descriptor[]): PeekResult {
    const nowMs = this.#now();
    const states = descriptors.map((descriptor) => {
      const { key, quota, cost } = descriptor;
      const meter = this.#meters.get(key) ?? NEW_METER[quota.algorithm](quota);
      meter.fits(this.#metered(descriptor, nowMs), nowMs);
      return meter.record({ quota: { ...quota, countRejected: false }, cost }, nowMs, false);
    });
    return { states, nowMs };
  }

  /** Rejects with a StoreError (`overloaded`) if it remembers too many settlements. */
  settle(settlement: Settlement): SettleResult | Promise<SettleResult> {
    const nowMs = this.#now();
    try {
      const refused = this.#settled.begin(settlement, nowMs);
      if (refused === undefined)
        return { parts: settlement.parts.map((part) => this.#settlePart(part, nowMs)) };
      return { parts: settlement.parts.map(() => ({ state: refused, cut: 0 })) };
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async reset(keys: readonly string[], settled: readonly string[] = []): Promise<void> {
    // Calls that were admitted stay known: their responses have yet to end.
    for (const key of keys) this.#meters.delete(key);
    for (const key of settled) this.#settled.noteReset(key, this.#now());
  }

  #settlePart(part: SettledPart, nowMs: number): SettleResult['parts'][number] {
    const { key, quota, reserved, used } = part;
    if (this.#settled.isReset(part, nowMs)) return { state: 'reset', cut: 0 };
    if (used === reserved) return { state: 'settled', cut: 0 };
    const known = this.#meters.get(key);
    const meter = known ?? NEW_METER[quota.algorithm](quota);
    meter.fits({ quota, cost: 0 }, nowMs);
    const cut = meter.settle(part, nowMs);
    if (cut === undefined) return { state: 'gone', cut: 0 };
    if (known === undefined) {
      this.#meters.add(key, meter);
      this.#meters.evict(1, nowMs);
    }
    return { state: 'settled', cut };
  }

  #count(descriptors: readonly Descriptor[], isAdmitted: boolean): TakeResult {
    const nowMs = this.#now();
    let admitted = true;
    const known = descriptors.map(({ key }) => this.#meters.get(key));
    const meters = descriptors.map(({ quota }, i) => known[i] ?? NEW_METER[quota.algorithm](quota));
    for (const [i, descriptor] of descriptors.entries()) {
      // Called in any case, because it also brings the meter to this moment.
      const request = this.#metered(descriptor, nowMs);
      if (!(meters[i] as Meter).fits(request, nowMs) && !isAdmitted) admitted = false;
    }
    const taken = admitted ? undefined : this.#takeRemainders(descriptors, meters, nowMs);
    let newKeys = 0;
    const states = descriptors.map((descriptor, i): QuotaState => {
      const meter = meters[i] as Meter;
      const state = meter.record(descriptor, nowMs, admitted);
      const units = taken?.[i];
      if (admitted) this.#remainders.note(descriptor, nowMs);
      const isChanged = (units ?? 0) > 0 || changesCount(descriptor, admitted);
      // What is not known yet has nothing that a refund could give back.
      if (known[i] === undefined && descriptor.cost > 0 && isChanged) {
        this.#meters.add(descriptor.key, meter);
        newKeys++;
      }
      return units === undefined ? state : { ...state, taken: units };
    });
    if (newKeys > 0) this.#meters.evict(newKeys, nowMs);
    return { admitted, states, nowMs };
  }

  /** Call once the meter of the previous name is at this moment. */
  #metered(descriptor: Descriptor, nowMs: number): IndebtedRequest {
    const { quota, cost, previousKey } = descriptor;
    if (previousKey === undefined) return descriptor;
    const leastDebt = this.#meters.get(previousKey)?.debtAt?.(quota, nowMs) ?? 0;
    return { quota, cost, leastDebt };
  }

  /** Charges of a denied request take what is left. Returns the units that each took; undefined for what is no charge. */
  #takeRemainders(
    descriptors: readonly Descriptor[],
    meters: readonly Meter[],
    nowMs: number,
  ): readonly (number | undefined)[] | undefined {
    if (!descriptors.some(isCharge)) return undefined;
    const recordAt = (i: number, cost: number, isTaken: boolean) => {
      const { quota } = descriptors[i] as Descriptor;
      return (meters[i] as Meter).record({ quota, cost }, nowMs, isTaken);
    };
    const left = descriptors.map((_each, i) => recordAt(i, 0, false).remaining);
    const units = this.#remainders.unitsOf(descriptors, left, nowMs);
    for (const [i, taken] of units.entries()) if (taken > 0) recordAt(i, taken, true);
    return descriptors.map((each, i) => (isCharge(each) ? units[i] : undefined));
  }
}
