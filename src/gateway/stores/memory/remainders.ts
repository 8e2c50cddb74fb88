/** Charges of requests that are denied, which take what is left of their quotas. */
import { type Descriptor, isCharge } from '../../core/counting/store.ts';
import { AdmittedCalls } from './admitted-calls.ts';
import { MeterTable } from './meter-table.ts';

export class Remainders {
  readonly #calls: MeterTable<AdmittedCalls>;

  constructor(maxKeys: number) {
    this.#calls = new MeterTable(maxKeys);
  }

  /** Notes that a request was admitted, if a charge of the same key may need it. */
  note({ key, quota, cost, previousKey }: Descriptor, nowMs: number): void {
    if (quota.remainder === undefined || cost < 0) return;
    const known = this.#calls.get(key);
    const before = previousKey === undefined ? undefined : this.#calls.get(previousKey);
    const hasCharges = [known, before].some((each) => (each?.overAtMs ?? nowMs) > nowMs);
    if (!hasCharges && cost > 0 && quota.remainder === 'note') return;
    const calls = known ?? new AdmittedCalls(quota.windowMs);
    calls.note(nowMs);
    if (known === undefined) this.#add(key, calls, nowMs);
  }

  /**
   * The units that a denied request takes from each of its descriptors. `left` are the remaining units of each. Both names
   * of a client give the same.
   */
  unitsOf(descriptors: readonly Descriptor[], left: readonly number[], nowMs: number): number[] {
    const units = descriptors.map(() => 0);
    for (const [i, descriptor] of descriptors.entries()) {
      const later = descriptors.findIndex(({ previousKey }) => previousKey === descriptor.key);
      const isLaterOfTwo = descriptors.some(({ key }) => key === descriptor.previousKey);
      if (!isCharge(descriptor) || isLaterOfTwo) continue;
      const names = later === -1 ? [i] : [i, later];
      const most = Math.min(descriptor.cost, ...names.map((name) => left[name] as number));
      if (most <= 0) continue;
      // The previous name knows all calls that the current one knows.
      if (!this.#use(descriptor, left[i] as number, nowMs)) continue;
      if (later !== -1) this.#use(descriptors[later] as Descriptor, left[later] as number, nowMs);
      for (const name of names) units[name] = most;
    }
    return units;
  }

  #use({ key, quota, cost, previousKey }: Descriptor, left: number, nowMs: number): boolean {
    const known = this.#calls.get(key);
    const calls = known ?? new AdmittedCalls(quota.windowMs);
    const isUnused = left === quota.burst;
    // A counter is unused only two windows later, which would be too long for other calls.
    const isCounter = quota.algorithm === 'sliding-window-counter';
    const isFirst = previousKey === undefined;
    const remainder = { isUnused, isFirst, neverFits: cost > quota.burst && !isCounter };
    const isAllowed = calls.use(remainder, nowMs);
    if (isAllowed && known === undefined) this.#add(key, calls, nowMs);
    return isAllowed;
  }

  #add(key: string, calls: AdmittedCalls, nowMs: number): void {
    this.#calls.add(key, calls);
    this.#calls.makeRoom(1, nowMs);
  }
}
