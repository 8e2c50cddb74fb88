/** The salts of both periods and the kept secret, as this process holds them and shares them with other gateways. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS, LONG_PERIOD_MS, type SaltSource, type Salts } from '../core/salts.ts';
import { SaltBook } from './salt-book.ts';
import { type SaltVault, SharedSalt } from './shared-salt.ts';

/** The other gateways. Those that hold salts write them back when the vault has lost them. */
export interface SaltHolders {
  /** Asks holders to write back. Resolves to whether there may be any. Rejects if they cannot be reached. */
  ask(): Promise<boolean>;
  /** Call once this gateway holds the salts: from now on it can be asked. */
  join(): void;
}

/** As long as holders need to connect again after Redis was restarted. */
const ASKED_FOR_MS = 500;
const LOOK_EVERY_MS = 25;

export class SaltBooks implements SaltSource {
  readonly #vault: SaltVault | undefined;
  readonly #holders: SaltHolders | undefined;
  readonly #kept = new SharedSalt({ name: 'kept' });
  readonly #daily = new SaltBook(DAY_MS);
  readonly #long = new SaltBook(LONG_PERIOD_MS);
  /** Cached results, one without long salts and one with them, so that callers of both kinds keep their objects. */
  #withoutLong: Salts | undefined;
  #withLong: Salts | undefined;
  /** False after an attempt that failed, so that a vault that accepts no salt is not waited for again and again. */
  #mayAsk = true;
  #isAsking = false;

  /** Without a vault, this process has its own salts. */
  constructor(vault?: SaltVault, holders?: SaltHolders) {
    this.#vault = vault;
    this.#holders = holders;
  }

  at(nowMs: number, hasLongWindows: boolean): Salts {
    const kept = this.#kept.key;
    const daily = this.#daily.at(nowMs);
    if (!hasLongWindows) {
      const known = this.#withoutLong;
      if (known?.kept === kept && known.daily === daily) return known;
      this.#withoutLong = { kept, daily, long: undefined };
      return this.#withoutLong;
    }
    const long = this.#long.at(nowMs);
    const known = this.#withLong;
    if (known?.kept === kept && known.daily === daily && known.long === long) return known;
    this.#withLong = { kept, daily, long };
    return this.#withLong;
  }

  /** Whether this gateway waits for other gateways to write salts back. Its own ones are provisional so long. */
  get isAsking(): boolean {
    return this.#isAsking;
  }

  /**
   * Agrees with the vault on the salts, and deletes expired ones. What the vault has wins. What it lacks, it gets from
   * this gateway. A gateway that has not agreed on the current salts first asks the others to write back theirs.
   * Rejects if the vault cannot be reached; call `refresh` again.
   */
  async refresh(nowMs: number): Promise<void> {
    this.#forget(nowMs);
    if (this.#vault === undefined) return;
    try {
      if (this.#mayAsk) await this.#askHolders(this.#vault, nowMs);
      await this.#agree(this.#vault, nowMs);
    } finally {
      this.#isAsking = false;
    }
    this.#mayAsk = true;
    this.#holders?.join();
  }

  /** Writes back what the vault has lost. Does not ask others, because one of them asks. */
  async restore(nowMs: number): Promise<void> {
    this.#forget(nowMs);
    if (this.#vault !== undefined) await this.#agree(this.#vault, nowMs);
  }

  async #askHolders(vault: SaltVault, nowMs: number): Promise<void> {
    if (this.#holders === undefined || !(await this.#isMissingAny(vault, nowMs))) return;
    this.#isAsking = true;
    if (!(await this.#holders.ask())) return;
    const endMs = performance.now() + ASKED_FOR_MS;
    while (performance.now() < endMs && (await this.#isMissingAny(vault, nowMs))) {
      await sleep(LOOK_EVERY_MS);
    }
    this.#mayAsk = false;
  }

  /** Those of earlier and later periods do not matter: nothing is counted under them, or nobody made them yet. */
  async #isMissingAny(vault: SaltVault, nowMs: number): Promise<boolean> {
    for (const salt of [
      this.#kept,
      this.#daily.currentSalt(nowMs),
      this.#long.currentSalt(nowMs),
    ]) {
      if (await salt.isMissing(vault)) return true;
    }
    return false;
  }

  async #agree(vault: SaltVault, nowMs: number): Promise<void> {
    await this.#kept.agree(vault, nowMs);
    await this.#daily.agree(vault, nowMs);
    // Also while no policy needs long salts: when one does, all gateways must have the same ones at once.
    await this.#long.agree(vault, nowMs);
  }

  #forget(nowMs: number): void {
    this.#daily.forget(nowMs);
    this.#long.forget(nowMs);
    // Drops expired salts even if there are no requests.
    if (this.#withoutLong !== undefined) this.at(nowMs, false);
    if (this.#withLong !== undefined) this.at(nowMs, true);
  }
}
