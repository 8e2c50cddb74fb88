/**
 * Keeps the salts of the last, this and the next period at hand, so that a request never waits for one. The next is
 * made ahead of time, so that its beginning passes whether or not the vault can be reached then.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { type PeriodSalts, periodStart, SALT_BYTES } from '../core/salts.ts';

/** Where gateways that count together find the same salts. */
export interface SaltVault {
  get(startMs: number): Promise<Buffer | undefined>;
  /** The salt of the period that begins then: the proposed one, unless there is one already. */
  agree(startMs: number, proposed: Buffer, nowMs: number): Promise<Buffer>;
}

export class SaltBook {
  readonly #periodMs: number;
  readonly #vault: SaltVault | undefined;
  readonly #byStart = new Map<number, KeyObject>();
  #current: PeriodSalts | undefined;

  /** Without a vault the salts are this process's own. */
  constructor(periodMs: number, vault?: SaltVault) {
    this.#periodMs = periodMs;
    this.#vault = vault;
  }

  /** The same object until the salts change. */
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
   * Agrees with the vault on all three periods and forgets what is over. What is known here is proposed each time,
   * since a vault may come back empty; what the vault knows wins. Rejects when it cannot be reached; call it again.
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
      // Nobody counted under a salt of the past that is made up now.
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
