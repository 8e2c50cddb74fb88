/**
 * How often a charge that does not fit may take what is left of a quota: once for each call that was admitted in the current
 * window or the one before, if the last call was admitted less than a window ago. Windows are aligned to the epoch. Without
 * this bound, denied calls would take every unit that becomes free, and no call would ever be admitted again.
 *
 * It is the model for lua/includes/admitted-calls.lua.
 */
import { admittedCallsLastMs } from '../../core/counting/store.ts';

/** A charge that does not fit. */
export interface Remainder {
  /** Whether nothing of the quota is in use. */
  readonly isUnused: boolean;
  /** Whether the client has no earlier name here, which decides. */
  readonly isFirst: boolean;
  /** Whether the charge is more than the whole quota. */
  readonly neverFits: boolean;
}

export class AdmittedCalls {
  used = false;
  readonly #windowMs: number;
  /** When the last call was admitted. Where calls are not noted: when the last remainder was taken. */
  #lastMs = Number.NEGATIVE_INFINITY;
  /** Calls of the window of `#lastMs` for which no remainder was taken yet. */
  #current = 0;
  /** The same of the window before. */
  #previous = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** From then on it equals a new one, milliseconds since the epoch. */
  get overAtMs(): number {
    return this.#lastMs + admittedCallsLastMs(this.#windowMs);
  }

  /** A call was admitted. */
  note(nowMs: number): void {
    const passed = this.#windowsPassed(nowMs);
    if (passed > 0) {
      this.#previous = passed === 1 ? this.#current : 0;
      this.#current = 0;
    }
    this.#current++;
    this.#lastMs = nowMs;
  }

  /** Whether a remainder may be taken, which uses an admitted call. */
  use({ isUnused, isFirst, neverFits }: Remainder, nowMs: number): boolean {
    const passed = this.#windowsPassed(nowMs);
    if (this.overAtMs <= nowMs) {
      // Calls whose units are in use were admitted, and not noted.
      const isUsed = !isUnused || !isFirst;
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
    // A response that took longer than a window may use up a whole quota, once for all calls that were admitted before.
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
