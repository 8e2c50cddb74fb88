/** The salt books of both periods, as one source. */
import { DAY_MS, LONG_PERIOD_MS, type SaltSource, type Salts } from '../core/salts.ts';
import { SaltBook, type SaltVault } from './salt-book.ts';

export class SaltShelf implements SaltSource {
  readonly #daily: SaltBook;
  readonly #long: SaltBook;
  #current: Salts | undefined;

  /** Without vaults the salts are this process's own. */
  constructor(vaultOf?: (periodMs: number) => SaltVault) {
    this.#daily = new SaltBook(DAY_MS, vaultOf?.(DAY_MS));
    this.#long = new SaltBook(LONG_PERIOD_MS, vaultOf?.(LONG_PERIOD_MS));
  }

  at(nowMs: number, hasLongWindows: boolean): Salts {
    const daily = this.#daily.at(nowMs);
    const long = hasLongWindows ? this.#long.at(nowMs) : undefined;
    if (this.#current?.daily !== daily || this.#current.long !== long) {
      this.#current = { daily, long };
    }
    return this.#current;
  }

  /** Agrees with the vaults on what the salts are. Rejects when they cannot be reached; call it again. */
  async refresh(nowMs: number): Promise<void> {
    await this.#daily.refresh(nowMs);
    // Also while no policy needs them: when one does, every gateway must have the same ones at once.
    await this.#long.refresh(nowMs);
    // Also when nobody asks: what is over is not kept.
    if (this.#current !== undefined) this.at(nowMs, this.#current.long !== undefined);
  }
}
