/**
 * Holds the salts of the previous, the current and the next period in memory, so that no request waits for one. The next
 * salt is created in advance, so a new period can begin while the vault is down.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { type PeriodSalts, periodStart, SALT_BYTES } from '../core/salts.ts';

/** Where gateways that share counters find the same salts. */
export interface SaltVault {
  /** The salt of the period that begins at `startMs`, if there is one. */
  get(startMs: number): Promise<Buffer | undefined>;
  /** The salt of the period that begins at `startMs`: the stored one, otherwise the proposed one. */
  agree(startMs: number, proposed: Buffer, nowMs: number): Promise<Buffer>;
}

export class SaltBook {
  readonly #periodMs: number;
  readonly #vault: SaltVault | undefined;
  readonly #byStart = new Map<number, KeyObject>();
  #current: PeriodSalts | undefined;

  /** Without a vault, this process has its own salts. */
  constructor(periodMs: number, vault?: SaltVault) {
    this.#periodMs = periodMs;
    this.#vault = vault;
  }

  /** Returns the same object until the salts change. */
  at(nowMs: number): PeriodSalts {
    const startMs = periodStart(nowMs, this.#periodMs);
    if (this.#current?.startMs === startMs) return this.#current;
    let current = this.#byStart.get(startMs);
    if (current === undefined) {
      current = createSecretKey(randomBytes(SALT_BYTES));
      this.#byStart.set(startMs, current);
    }
    const previous = this.#byStart.get(startMs - this.#periodMs);
    this.#current = { startMs, current, previous };
    return this.#current;
  }

  /**
   * Agrees with the vault on the salts of all three periods, and deletes expired ones. Known salts are proposed every
   * time, because a vault may have lost its data; the vault's salts win. Rejects if the vault cannot be reached; call
   * `refresh` again.
   */
  async refresh(nowMs: number): Promise<void> {
    const current = periodStart(nowMs, this.#periodMs);
    for (const start of this.#byStart.keys()) {
      if (start < current - this.#periodMs) this.#byStart.delete(start);
    }
    if (this.#current !== undefined && this.#current.startMs < current) this.#current = undefined;
    if (this.#vault === undefined) return;
    for (const start of [current - this.#periodMs, current, current + this.#periodMs]) {
      const known = this.#byStart.get(start)?.export();
      // A new salt for a past period would be useless: no request was counted with it.
      const agreed =
        known === undefined && start < current
          ? await this.#vault.get(start)
          : await this.#vault.agree(start, known ?? randomBytes(SALT_BYTES), nowMs);
      if (agreed === undefined || known?.equals(agreed)) continue;
      this.#byStart.set(start, createSecretKey(agreed));
      this.#current = undefined;
    }
  }
}
