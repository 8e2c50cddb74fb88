/** Combines the salt books of both periods. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { DAY_MS, LONG_PERIOD_MS, SALT_BYTES, type SaltSource, type Salts } from '../core/salts.ts';
import { SaltBook, type SaltVault } from './salt-book.ts';

export class SaltBooks implements SaltSource {
  readonly #kept = createSecretKey(randomBytes(SALT_BYTES));
  readonly #daily: SaltBook;
  readonly #long: SaltBook;
  /** Cached results, one without long salts and one with them, so that callers of both kinds keep their objects. */
  #withoutLong: Salts | undefined;
  #withLong: Salts | undefined;

  /** Without vaults, this process has its own salts. */
  constructor(vaultOf?: (periodMs: number) => SaltVault) {
    this.#daily = new SaltBook(DAY_MS, vaultOf?.(DAY_MS));
    this.#long = new SaltBook(LONG_PERIOD_MS, vaultOf?.(LONG_PERIOD_MS));
  }

  at(nowMs: number, hasLongWindows: boolean): Salts {
    const kept = this.#kept;
    const daily = this.#daily.at(nowMs);
    if (!hasLongWindows) {
      if (this.#withoutLong?.daily !== daily) this.#withoutLong = { kept, daily, long: undefined };
      return this.#withoutLong;
    }
    const long = this.#long.at(nowMs);
    if (this.#withLong?.daily !== daily || this.#withLong.long !== long) {
      this.#withLong = { kept, daily, long };
    }
    return this.#withLong;
  }

  /** Agrees with the vaults on the salts. Rejects if they cannot be reached; call it again. */
  async refresh(nowMs: number): Promise<void> {
    await this.#daily.refresh(nowMs);
    // Also while no policy needs long salts: when one does, all gateways must have the same ones at once.
    await this.#long.refresh(nowMs);
    // Drops expired salts even if there are no requests.
    if (this.#withoutLong !== undefined) this.at(nowMs, false);
    if (this.#withLong !== undefined) this.at(nowMs, true);
  }
}
