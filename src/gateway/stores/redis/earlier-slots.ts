import type { SettledPart } from '../../core/counting/settlement.ts';
import { changesCount, type Descriptor, isCharge } from '../../core/counting/store.ts';
import type { IndebtedDescriptor } from './take-script.ts';

/** What a request did in earlier slots, which the script in a later slot cannot read. */
export class EarlierSlots {
  /** What token buckets owed before the take, in units x windowMs. */
  readonly #debts = new Map<string, number>();
  readonly #taken = new Map<string, number>();
  readonly #owed: SettledPart[] = [];

  readonly onDebt = ({ key }: Descriptor, debt: number): void => {
    this.#debts.set(key, debt);
  };

  /** `momentMs` is that of the slot. */
  took({ key, quota, givesBack }: Descriptor, units: number, momentMs: number): void {
    this.#taken.set(key, units);
    if (givesBack && units > 0) this.#owed.push({ key, quota, momentMs, reserved: units, used: 0 });
  }

  /** What is given back if a later slot denies. */
  get owed(): readonly SettledPart[] {
    return this.#owed;
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
