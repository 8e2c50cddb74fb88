import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { DAY_MS, type PeriodSalts, periodStart, SALT_BYTES } from '../../core/identity/salts.ts';

/** Where gateways that share counters find the same salts. Every method rejects if it cannot be reached. */
export interface SaltVault {
  get(name: string): Promise<Buffer | undefined>;
  /** Stores the proposed salt if there is none, for a lifetime or for ever. Returns the stored one. */
  agree(name: string, proposed: Buffer, lifetimeMs: number | undefined): Promise<Buffer>;
  /** Requests that the other gateways write back what they hold and the vault has lost. */
  requestLost(): Promise<void>;
}

interface SharedSaltOptions {
  readonly name: string;
  /** Milliseconds since the epoch; undefined for a salt that is kept. */
  readonly endMs?: number | undefined;
  readonly stored?: Buffer;
}

/** A salt that all gateways share under a name. Until they have agreed on it, it is provisional: this process made it. */
export class SharedSalt {
  readonly #name: string;
  readonly #endMs: number | undefined;
  #key: KeyObject;
  #isAgreed: boolean;

  constructor({ name, endMs, stored }: SharedSaltOptions) {
    this.#name = name;
    this.#endMs = endMs;
    this.#key = createSecretKey(stored ?? randomBytes(SALT_BYTES));
    this.#isAgreed = stored !== undefined;
  }

  get key(): KeyObject {
    return this.#key;
  }

  /** Whether this gateway made the salt up and the vault has none. Other gateways may hold one. */
  async isMissing(vault: SaltVault): Promise<boolean> {
    return !this.#isAgreed && (await vault.get(this.#name)) === undefined;
  }

  /** The salt of the vault wins. If the vault has none, it gets this one. Resolves to whether this one changed. */
  async agree(vault: SaltVault, nowMs: number): Promise<boolean> {
    const known = this.#key.export();
    const lifetimeMs = this.#endMs === undefined ? undefined : this.#endMs - nowMs;
    const agreed = await vault.agree(this.#name, known, lifetimeMs);
    this.#isAgreed = true;
    if (agreed.equals(known)) return false;
    this.#key = createSecretKey(agreed);
    return true;
  }

  async restore(vault: SaltVault, nowMs: number): Promise<boolean> {
    return this.#isAgreed && (await this.agree(vault, nowMs));
  }
}

/**
 * Holds the salts of the previous, the current and the next period in memory, so that no request waits for one. The next
 * salt is created in advance, so a new period can begin while the vault is down.
 */
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

  currentSalt(nowMs: number): SharedSalt {
    return this.#saltOf(periodStart(nowMs, this.#periodMs));
  }

  nextSalt(nowMs: number): SharedSalt {
    return this.#saltOf(periodStart(nowMs, this.#periodMs) + this.#periodMs);
  }

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

  /** A salt lasts until the end of the next period, because windows of that period reach back into this one. */
  #termsOf(startMs: number) {
    return { name: this.#nameOf(startMs), endMs: startMs + 2 * this.#periodMs };
  }

  /** `1d:2026-11-21` */
  #nameOf(startMs: number): string {
    return `${this.#periodMs / DAY_MS}d:${new Date(startMs).toISOString().slice(0, 10)}`;
  }
}
