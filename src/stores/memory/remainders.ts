/** Charges that do not fit, and take what is left of their quotas. */
import type { Descriptor } from '../../core/store.ts';
import { AdmittedCalls } from './admitted-calls.ts';
import { MeterTable } from './meter-table.ts';

export class Remainders {
  readonly #calls: MeterTable<AdmittedCalls>;

  constructor(maxKeys: number) {
    this.#calls = new MeterTable(maxKeys);
  }

  /** Notes that a request was admitted, if a charge of the same key may need it. */
  note({ key, quota, cost }: Descriptor, nowMs: number): void {
    if (quota.remainder === undefined || cost < 0) return;
    const known = this.#calls.get(key);
    const hasCharges = known !== undefined && known.overAtMs > nowMs;
    if (!hasCharges && cost > 0 && quota.remainder === 'note') return;
    const calls = known ?? new AdmittedCalls(quota.windowMs);
    calls.note(nowMs);
    if (known === undefined) this.#add(key, calls, nowMs);
  }

  /** The units that a denied request takes from each of its descriptors. `left` are the remaining units of each. */
  unitsOf(descriptors: readonly Descriptor[], left: readonly number[], nowMs: number): number {
    const units = Math.min(...left, ...descriptors.map(({ cost }) => cost));
    if (units <= 0) return 0;
    const uses = descriptors.map((each, i) => this.#use(each, left[i] as number, nowMs));
    return uses.includes(true) ? units : 0;
  }

  #use({ key, quota, cost }: Descriptor, left: number, nowMs: number): boolean {
    const known = this.#calls.get(key);
    const calls = known ?? new AdmittedCalls(quota.windowMs);
    const isUnused = left === quota.burst;
    // A counter is unused only two windows later, which would be too long for other calls.
    const isCounter = quota.algorithm === 'sliding-window-counter';
    const remainder = { isUnused, neverFits: cost > quota.burst && !isCounter };
    const isAllowed = calls.use(remainder, nowMs);
    if (isAllowed && known === undefined) this.#add(key, calls, nowMs);
    return isAllowed;
  }

  #add(key: string, calls: AdmittedCalls, nowMs: number): void {
    this.#calls.add(key, calls);
    this.#calls.makeRoom(1, nowMs);
  }
}
