/**
 * Keeps the salts of yesterday, today and tomorrow at hand, so that a request never waits for one. Tomorrow's is made
 * ahead of time, so that midnight passes whether or not the vault can be reached then.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { DAY_MS, type DailySalts, type SaltSource } from '../core/salts.ts';

/** Where gateways that count together find the same salts. */
export interface SaltVault {
  get(dayStartMs: number): Promise<Buffer | undefined>;
  /** The salt of that day: the proposed one, unless there is one already. */
  agree(dayStartMs: number, proposed: Buffer, nowMs: number): Promise<Buffer>;
}

const SALT_BYTES = 32;

export class SaltBook implements SaltSource {
  readonly #vault: SaltVault | undefined;
  readonly #byDay = new Map<number, KeyObject>();
  #current: DailySalts | undefined;

  /** Without a vault the salts are this process's own. */
  constructor(vault?: SaltVault) {
    this.#vault = vault;
  }

  at(nowMs: number): DailySalts {
    const dayStartMs = startOfDay(nowMs);
    if (this.#current?.dayStartMs === dayStartMs) return this.#current;
    let today = this.#byDay.get(dayStartMs);
    if (today === undefined) {
      today = createSecretKey(randomBytes(SALT_BYTES));
      this.#byDay.set(dayStartMs, today);
    }
    this.#current = { dayStartMs, today, yesterday: this.#byDay.get(dayStartMs - DAY_MS) };
    return this.#current;
  }

  /**
   * Agrees with the vault on all three days and forgets what is over. What is known here is proposed each time, since
   * a vault may come back empty; what the vault knows wins. Rejects when it cannot be reached; call it again later.
   */
  async refresh(nowMs: number): Promise<void> {
    const today = startOfDay(nowMs);
    for (const day of this.#byDay.keys()) {
      if (day < today - DAY_MS) this.#byDay.delete(day);
    }
    if (this.#vault === undefined) return;
    for (const day of [today - DAY_MS, today, today + DAY_MS]) {
      const known = this.#byDay.get(day)?.export();
      // Nobody counted under a salt of yesterday that is made up today.
      const agreed =
        known === undefined && day < today
          ? await this.#vault.get(day)
          : await this.#vault.agree(day, known ?? randomBytes(SALT_BYTES), nowMs);
      if (agreed === undefined || known?.equals(agreed)) continue;
      this.#byDay.set(day, createSecretKey(agreed));
      this.#current = undefined;
    }
  }
}

function startOfDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}
