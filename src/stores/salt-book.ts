/**
 * Keeps the salts of yesterday, today and tomorrow at hand, so that a request never waits for one. Tomorrow's is made
 * ahead of time, so that midnight passes whether or not the vault can be reached then.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { DAY_MS, type DailySalts, type SaltSource } from '../core/salts.ts';

/** Where gateways that count together find the same salts. */
export interface SaltVault {
  get(dayStartMs: number): Promise<Buffer | undefined>;
  getOrMake(dayStartMs: number, nowMs: number): Promise<Buffer>;
}

export class SaltBook implements SaltSource {
  readonly #vault: SaltVault | undefined;
  readonly #byDay = new Map<number, KeyObject>();
  /** Made here because the vault could not be reached; the vault's own takes their place. */
  readonly #provisional = new Set<number>();
  #current: DailySalts | undefined;

  /** Without a vault the salts are this process's own. */
  constructor(vault?: SaltVault) {
    this.#vault = vault;
  }

  at(nowMs: number): DailySalts {
    const dayStartMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    if (this.#current?.dayStartMs === dayStartMs) return this.#current;
    this.#current = {
      dayStartMs,
      today: this.#byDay.get(dayStartMs) ?? this.#makeProvisional(dayStartMs),
      yesterday: this.#byDay.get(dayStartMs - DAY_MS),
    };
    return this.#current;
  }

  /** Fetches what is missing and forgets what is over. Rejects when the vault cannot be reached; call it again later. */
  async refresh(nowMs: number): Promise<void> {
    const dayStartMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    for (const day of this.#byDay.keys()) {
      if (day >= dayStartMs - DAY_MS) continue;
      this.#byDay.delete(day);
      this.#provisional.delete(day);
    }
    if (this.#vault === undefined) return;
    if (!this.#byDay.has(dayStartMs - DAY_MS)) {
      const yesterday = await this.#vault.get(dayStartMs - DAY_MS);
      if (yesterday !== undefined) this.#keep(dayStartMs - DAY_MS, yesterday);
    }
    for (const day of [dayStartMs, dayStartMs + DAY_MS]) {
      if (this.#byDay.has(day) && !this.#provisional.has(day)) continue;
      this.#keep(day, await this.#vault.getOrMake(day, nowMs));
    }
  }

  #keep(day: number, salt: Buffer): void {
    this.#byDay.set(day, createSecretKey(salt));
    this.#provisional.delete(day);
    this.#current = undefined;
  }

  #makeProvisional(day: number): KeyObject {
    const salt = createSecretKey(randomBytes(32));
    this.#byDay.set(day, salt);
    this.#provisional.add(day);
    return salt;
  }
}
