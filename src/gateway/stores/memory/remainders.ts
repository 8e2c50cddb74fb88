/**
 * Charges of requests that are denied take what is left of their quotas, once for each call that was admitted in the
 * current window or the one before, if the last call was admitted less than a window ago. Without this bound, denied calls
 * would take every unit that becomes free, and no call would ever be admitted again. Windows are aligned to the epoch.
 *
 * This is the model for lua/includes/remainders.lua and lua/includes/admitted-calls.lua.
 */
import { type Descriptor, isCharge } from '../../core/counting/store.ts';
import { MeterTable } from './meter.ts';

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
    const hasCharges = [known, before].some((each) => (each?.expiresMs ?? nowMs) > nowMs);
    if (!hasCharges && cost > 0 && quota.remainder === 'note') return;
    const calls = known ?? new AdmittedCalls(quota.windowMs);
    calls.note(nowMs);
    if (known === undefined) this.#add(key, calls, nowMs);
  }

  /** `left` are the remaining units of each descriptor. Both names of a client give the same. */
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

  #use(descriptor: Descriptor, left: number, nowMs: number): boolean {
    const { key, quota } = descriptor;
    const known = this.#calls.get(key);
    const calls = known ?? new AdmittedCalls(quota.windowMs);
    const isAllowed = calls.use(descriptor, left === quota.burst, nowMs);
    if (isAllowed && known === undefined) this.#add(key, calls, nowMs);
    return isAllowed;
  }

  #add(key: string, calls: AdmittedCalls, nowMs: number): void {
    this.#calls.add(key, calls);
    this.#calls.evict(1, nowMs);
  }
}

class AdmittedCalls {
  used = false;
  readonly #windowMs: number;
  /** When the last call was admitted. Where calls are not noted, it is when the last remainder was taken. */
  #lastMs = Number.NEGATIVE_INFINITY;
  /** Calls in the window of `#lastMs` and in the one before, for which no remainder was taken yet. */
  #current = 0;
  #previous = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  get expiresMs(): number {
    return this.#lastMs + admittedCallsLastMs(this.#windowMs);
  }

  note(nowMs: number): void {
    const passed = this.#windowsPassed(nowMs);
    if (passed > 0) {
      this.#previous = passed === 1 ? this.#current : 0;
      this.#current = 0;
    }
    this.#current++;
    this.#lastMs = nowMs;
  }

  /** Whether a charge that does not fit may take a remainder, which uses an admitted call. */
  use({ quota, cost, previousKey }: Descriptor, isUnused: boolean, nowMs: number): boolean {
    const passed = this.#windowsPassed(nowMs);
    if (this.expiresMs <= nowMs) {
      // Calls whose units are in use were admitted, and not noted. The previous name of a client decides.
      const isUsed = !isUnused || previousKey !== undefined;
      if (isUsed) [this.#lastMs, this.#current, this.#previous] = [nowMs, 0, 0];
      return isUsed;
    }
    const isRecent = nowMs < this.#lastMs + this.#windowMs;
    if (isRecent && passed === 0 && this.#previous > 0) {
      this.#previous--;
      return true;
    }
    if (isRecent && this.#current > 0) {
      this.#current--;
      return true;
    }
    // A response that took longer than a window may use up a whole quota, once for all calls that were admitted before. A
    // counter is unused only two windows later, which would be too long for other calls.
    const neverFits = cost > quota.burst && quota.algorithm !== 'sliding-window-counter';
    const isLate = neverFits && isUnused && this.#current + this.#previous > 0;
    if (isLate) [this.#current, this.#previous] = [0, 0];
    return isLate;
  }

  /** Windows between the last call and now. If the clock was set back, the last call counts as of now. */
  #windowsPassed(nowMs: number): number {
    this.#lastMs = Math.min(this.#lastMs, nowMs);
    return Math.floor(nowMs / this.#windowMs) - Math.floor(this.#lastMs / this.#windowMs);
  }
}

/** How long a key keeps the calls that were admitted, milliseconds: long enough for most responses to end. */
function admittedCallsLastMs(windowMs: number): number {
  return Math.max(3 * windowMs, 600_000);
}
