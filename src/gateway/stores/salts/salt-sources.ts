/** The two sources of salts: those that gateways share, and those that are derived from a secret. */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DAY_MS,
  LONG_PERIOD_MS,
  type PeriodSalts,
  periodStart,
  SALT_BYTES,
  type SaltSource,
  type Salts,
} from '../../core/identity/salts.ts';
import { storeErrorFrom } from '../redis/failures.ts';
import { SaltBook, type SaltVault, SharedSalt } from './salt-book.ts';

/** Together they take half a second: gateways need that to connect again after Redis was restarted. */
const LOOKS = 20;
const LOOK_EVERY_MS = 25;

/** The salts of both periods and the kept secret, as this process holds them and shares them with other gateways. */
export class SaltBooks implements SaltSource {
  readonly #vault: SaltVault | undefined;
  readonly #kept = new SharedSalt({ name: 'kept' });
  readonly #daily = new SaltBook(DAY_MS);
  readonly #long = new SaltBook(LONG_PERIOD_MS);
  /** Cached results, one without long salts and one with them, so that callers of both kinds keep their objects. */
  #withoutLong: Salts | undefined;
  #withLong: Salts | undefined;
  /** False after an attempt that failed, so that a vault that accepts no salt is not waited for again and again. */
  #mayRequest = true;
  #isAgreeing = false;
  #hasAgreed = false;

  /** Without a vault, the salts are those of this process alone. */
  constructor(vault?: SaltVault) {
    this.#vault = vault;
  }

  at(nowMs: number, hasLongWindows: boolean): Salts {
    const kept = this.#kept.key;
    const daily = this.#daily.at(nowMs);
    const long = hasLongWindows ? this.#long.at(nowMs) : undefined;
    const known = hasLongWindows ? this.#withLong : this.#withoutLong;
    if (known?.kept === kept && known.daily === daily && known.long === long) return known;
    const salts = { kept, daily, long };
    if (hasLongWindows) this.#withLong = salts;
    else this.#withoutLong = salts;
    return salts;
  }

  /** Whether this gateway looks for the salts of the others. Its own ones are provisional until then. */
  get isAgreeing(): boolean {
    return this.#isAgreeing;
  }

  /**
   * Agrees with the vault on the salts, and deletes expired ones. What the vault has wins. What it lacks, it gets from
   * this gateway. A gateway that has not agreed on the current salts first requests those of the others.
   * Rejects if the vault cannot be reached; call `refresh` again.
   */
  async refresh(nowMs: number): Promise<void> {
    this.#forget(nowMs);
    if (this.#vault === undefined) return;
    this.#isAgreeing = this.#mayRequest && !this.#hasAgreed;
    try {
      if (this.#mayRequest) await this.#requestLost(this.#vault, nowMs);
      await this.#agree(this.#vault, nowMs);
    } catch (error) {
      if (storeErrorFrom(error).reason === 'noperm') this.#mayRequest = false;
      throw error;
    } finally {
      this.#isAgreeing = false;
    }
    this.#mayRequest = true;
    this.#hasAgreed = true;
  }

  /** Writes back what the vault has lost, at the request of another gateway. Rejects if the vault cannot be reached. */
  async restore(nowMs: number): Promise<void> {
    this.#forget(nowMs);
    const vault = this.#vault;
    if (vault === undefined) return;
    const held = [this.#kept, this.#daily, this.#long];
    await Promise.all(held.map((each) => each.restore(vault, nowMs)));
  }

  async #requestLost(vault: SaltVault, nowMs: number): Promise<void> {
    if (!(await this.#isMissingAny(vault, nowMs))) return;
    this.#isAgreeing = true;
    await vault.requestLost();
    for (let looks = 0; looks < LOOKS && (await this.#isMissingAny(vault, nowMs)); looks++) {
      await sleep(LOOK_EVERY_MS);
    }
    this.#mayRequest = false;
  }

  /** Those of earlier periods are never proposed. Once it has agreed, nobody has made those of the next periods yet. */
  async #isMissingAny(vault: SaltVault, nowMs: number): Promise<boolean> {
    const books = [this.#daily, this.#long];
    const salts = [this.#kept, ...books.map((book) => book.currentSalt(nowMs))];
    if (!this.#hasAgreed) salts.push(...books.map((book) => book.nextSalt(nowMs)));
    const found = await Promise.all(salts.map((salt) => salt.isMissing(vault)));
    return found.includes(true);
  }

  async #agree(vault: SaltVault, nowMs: number): Promise<void> {
    await Promise.all([
      this.#kept.agree(vault, nowMs),
      this.#daily.agree(vault, nowMs),
      // When a policy begins to need long salts, all gateways must have the same ones at once.
      this.#long.agree(vault, nowMs),
    ]);
  }

  #forget(nowMs: number): void {
    this.#daily.forget(nowMs);
    this.#long.forget(nowMs);
    // Drops expired salts even if there are no requests.
    if (this.#withoutLong !== undefined) this.at(nowMs, false);
    if (this.#withLong !== undefined) this.at(nowMs, true);
  }
}

/** Gateways with the same secret need no communication, but who has the secret can compute the salts of any day. */
export class DerivedSalts implements SaltSource {
  readonly #secret: KeyObject;
  readonly #kept: KeyObject;
  // Checks may have no long windows, and calls of the rate limit service always may.
  #withoutLong: Salts | undefined;
  #withLong: Salts | undefined;

  constructor(secret: string) {
    this.#secret = createSecretKey(secret, 'utf8');
    this.#kept = this.#derive('headgate kept secret');
  }

  at(nowMs: number, hasLongWindows: boolean): Salts {
    const known = hasLongWindows ? this.#withLong : this.#withoutLong;
    const isCurrent =
      known !== undefined &&
      known.daily.startMs === periodStart(nowMs, DAY_MS) &&
      known.long?.startMs === (hasLongWindows ? periodStart(nowMs, LONG_PERIOD_MS) : undefined);
    if (isCurrent) return known;
    const salts = {
      kept: this.#kept,
      daily: this.#of(nowMs, DAY_MS),
      long: hasLongWindows ? this.#of(nowMs, LONG_PERIOD_MS) : undefined,
    };
    if (hasLongWindows) this.#withLong = salts;
    else this.#withoutLong = salts;
    return salts;
  }

  async refresh(): Promise<void> {}

  #of(nowMs: number, periodMs: number): PeriodSalts {
    const startMs = periodStart(nowMs, periodMs);
    return {
      startMs,
      current: this.#derive(addressSalt(startMs, periodMs)),
      previous: this.#derive(addressSalt(startMs - periodMs, periodMs)),
    };
  }

  /** HKDF (RFC 5869). */
  #derive(info: string): KeyObject {
    return createSecretKey(Buffer.from(hkdfSync('sha256', this.#secret, '', info, SALT_BYTES)));
  }
}

function addressSalt(startMs: number, periodMs: number): string {
  return `headgate address salt ${periodMs} ${startMs}`;
}
