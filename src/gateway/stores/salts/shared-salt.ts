/** A salt that all gateways share under a name. Until they have agreed on it, it is provisional: this process made it. */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { SALT_BYTES } from '../../core/identity/salts.ts';

/** Where gateways that share counters find the same salts. Every method rejects if it cannot be reached. */
export interface SaltVault {
  /** The salt of this name, if there is one. */
  get(name: string): Promise<Buffer | undefined>;
  /** Stores the proposed salt if there is none, for so long or for ever. Returns the stored one. */
  agree(name: string, proposed: Buffer, lifetimeMs: number | undefined): Promise<Buffer>;
  /** Asks the other gateways to write back what they hold and the vault has lost. */
  askOthers(): Promise<void>;
}

export interface SharedSaltOptions {
  readonly name: string;
  /** Milliseconds since the epoch; undefined for a salt that is kept. */
  readonly endMs?: number | undefined;
  /** The salt as the vault has it. */
  readonly stored?: Buffer;
}

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

  /** The same, unless this salt is provisional. */
  async restore(vault: SaltVault, nowMs: number): Promise<boolean> {
    return this.#isAgreed && (await this.agree(vault, nowMs));
  }
}
