/** The salt books of both periods, as one source. */
import { DAY_MS, LONG_PERIOD_MS, type SaltSource, type Salts } from '../core/salts.ts';
import { SaltBook, type SaltVault } from './salt-book.ts';

export class SaltBooks implements SaltSource {
  readonly #daily: SaltBook;
  readonly #long: SaltBook;
  /** One without the long ones and one with them: who asks for the one does not take the other from anybody. */
  #withoutLong: Salts | undefined;
  #withLong: Salts | undefined;

  /** Without vaults the salts are this process's own. */
  constructor(vaultOf?: (periodMs: number) => SaltVault) {
    this.#daily = new SaltBook(DAY_MS, vaultOf?.(DAY_MS));
    this.#long = new SaltBook(LONG_PERIOD_MS, vaultOf?.(LONG_PERIOD_MS));
  }

  at(nowMs: number, hasLongWindows: boolean): Salts {
    const daily = this.#daily.at(nowMs);
    if (!hasLongWindows) {
      if (this.#withoutLong?.daily !== daily) this.#withoutLong = { daily, long: undefined };
      return this.#withoutLong;
    }
    const long = this.#long.at(nowMs);
    if (this.#withLong?.daily !== daily || this.#withLong.long !== long) {
      this.#withLong = { daily, long };
    }
    return this.#withLong;
  }

  /** Agrees with the vaults on what the salts are. Rejects when they cannot be reached; call it again. */
  async refresh(nowMs: number): Promise<void> {
    await this.#daily.refresh(nowMs);
    // Also while no policy needs them: when one does, every gateway must have the same ones at once.
    await this.#long.refresh(nowMs);
    // Also when nobody asks: what is over is not kept.
    if (this.#withoutLong !== undefined) this.at(nowMs, false);
    if (this.#withLong !== undefined) this.at(nowMs, true);
  }
}
