/**
 * Holds the salts of the previous, the current and the next period in memory, so that no request waits for one. The next
 * salt is created in advance, so a new period can begin while the vault is down.
 */
import { DAY_MS, type PeriodSalts, periodStart } from '../../core/identity/salts.ts';
import { type SaltVault, SharedSalt } from './shared-salt.ts';

export class SaltBook {
  readonly #periodMs: number;
  readonly #byStart = new Map<number, SharedSalt>();
  #current: PeriodSalts | undefined;

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  /** Returns the same object until the salts change. */
  at(nowMs: number): PeriodSalts {
    const startMs = periodStart(nowMs, this.#periodMs);
    if (this.#current?.startMs === startMs) return this.#current;
    const current = this.#saltOf(startMs).key;
    const previous = this.#byStart.get(startMs - this.#periodMs)?.key;
    this.#current = { startMs, current, previous };
    return this.#current;
  }

  /** The salt of the current period. */
  currentSalt(nowMs: number): SharedSalt {
    return this.#saltOf(periodStart(nowMs, this.#periodMs));
  }

  /** The salt of the next period. */
  nextSalt(nowMs: number): SharedSalt {
    return this.#saltOf(periodStart(nowMs, this.#periodMs) + this.#periodMs);
  }

  /** Deletes expired salts. */
  forget(nowMs: number): void {
    const current = periodStart(nowMs, this.#periodMs);
    for (const start of this.#byStart.keys()) {
      if (start < current - this.#periodMs) this.#byStart.delete(start);
    }
    if (this.#current !== undefined && this.#current.startMs < current) this.#current = undefined;
  }

  /** Agrees with the vault on the salts of all three periods. Rejects if the vault cannot be reached. */
  async agree(vault: SaltVault, nowMs: number): Promise<void> {
    const current = periodStart(nowMs, this.#periodMs);
    await this.#allOf([
      this.#agreeOnPrevious(current - this.#periodMs, vault, nowMs),
      this.#saltOf(current).agree(vault, nowMs),
      this.#saltOf(current + this.#periodMs).agree(vault, nowMs),
    ]);
  }

  /** Writes back what the vault has lost, and proposes nothing new. Rejects if the vault cannot be reached. */
  async restore(vault: SaltVault, nowMs: number): Promise<void> {
    const salts = [...this.#byStart.values()];
    await this.#allOf(salts.map((salt) => salt.restore(vault, nowMs)));
  }

  /** Each resolves to whether a salt changed. One that changed is used even if another one is rejected. */
  async #allOf(agreements: readonly Promise<boolean>[]): Promise<void> {
    const noted = agreements.map(async (agreement) => {
      if (await agreement) this.#current = undefined;
    });
    await Promise.all(noted);
  }

  /** A new salt for a past period would be useless: no request was counted with it. */
  async #agreeOnPrevious(startMs: number, vault: SaltVault, nowMs: number): Promise<boolean> {
    const known = this.#byStart.get(startMs);
    if (known !== undefined) return known.agree(vault, nowMs);
    const stored = await vault.get(this.#nameOf(startMs));
    if (stored === undefined) return false;
    this.#byStart.set(startMs, new SharedSalt({ ...this.#termsOf(startMs), stored }));
    return true;
  }

  #saltOf(startMs: number): SharedSalt {
    let salt = this.#byStart.get(startMs);
    if (salt === undefined) {
      salt = new SharedSalt(this.#termsOf(startMs));
      this.#byStart.set(startMs, salt);
    }
    return salt;
  }

  /** Until the end of the next period, because windows of that period reach back into this one. */
  #termsOf(startMs: number) {
    return { name: this.#nameOf(startMs), endMs: startMs + 2 * this.#periodMs };
  }

  /** `1d:2026-11-21` */
  #nameOf(startMs: number): string {
    return `${this.#periodMs / DAY_MS}d:${new Date(startMs).toISOString().slice(0, 10)}`;
  }
}
