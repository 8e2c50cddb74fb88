/** Remembers since when the policy files in force apply, and why a newer version of them was refused. */
import { printable } from '../../core/printable.ts';
import { ConfigError } from '../config-error.ts';

export interface RefusedFiles {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Each as `file:line:column: path: what is wrong`. */
  readonly mistakes: readonly string[];
}

export class ReloadHistory {
  readonly #now: () => number;
  #sinceMs: number;
  #refused: RefusedFiles | undefined;

  constructor(now: () => number) {
    this.#now = now;
    this.#sinceMs = now();
  }

  /** Since when the files apply, milliseconds since the epoch. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** Undefined if the last reload succeeded. */
  get refused(): RefusedFiles | undefined {
    return this.#refused;
  }

  /** Settles as `reload` does. `digest` is that of the files in force. */
  async record<T>(
    reload: () => Promise<T | undefined>,
    digest: () => string,
  ): Promise<T | undefined> {
    const before = digest();
    try {
      const reloaded = await reload();
      if (reloaded !== undefined) this.#refused = undefined;
      if (digest() !== before) this.#sinceMs = this.#now();
      return reloaded;
    } catch (error) {
      const mistakes = error instanceof ConfigError ? error.mistakes : [printable(String(error))];
      this.#refused = { atMs: this.#now(), mistakes };
      throw error;
    }
  }
}
