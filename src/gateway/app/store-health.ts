/** Whether the store is degraded, which means that it failed lately. */

/**
 * A store that answers now and then, or a cluster that lacks a node, is still degraded. Otherwise the state would change
 * several times a second, and a scrape would miss short failures.
 */
const RECOVERED_AFTER_MS = 5_000;
/** How often a new connection that counts may end the state at once. Connections may break again and again. */
const RECOVERED_BY_CONNECTION_EVERY_MS = 60_000;

export interface StoreHealthOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onDegraded: () => void;
  readonly onRecovered: () => void;
}

export class StoreHealth {
  readonly #options: StoreHealthOptions;
  #isDegraded = false;
  #sinceMs: number;
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  #lastConnectionMs = Number.NEGATIVE_INFINITY;

  constructor(options: StoreHealthOptions) {
    this.#options = options;
    this.#sinceMs = options.now();
  }

  /** When the state last changed, milliseconds since the epoch. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  get isDegraded(): boolean {
    return this.#isDegraded;
  }

  /** Returns whether the store was healthy before. */
  failed(): boolean {
    const wasHealthy = !this.#isDegraded;
    this.#isDegraded = true;
    this.#lastFailureMs = this.#options.now();
    if (wasHealthy) {
      this.#sinceMs = this.#lastFailureMs;
      this.#options.onDegraded();
    }
    return wasHealthy;
  }

  /** Call this when the store has answered anything. */
  answered(): void {
    if (!this.#isDegraded) return;
    // The clock may have been set back.
    const sinceFailureMs = Math.abs(this.#options.now() - this.#lastFailureMs);
    if (sinceFailureMs >= RECOVERED_AFTER_MS) this.#recover();
  }

  /** Call this when a new connection counts. */
  connected(): void {
    if (!this.#isDegraded) return;
    const nowMs = this.#options.now();
    if (nowMs - this.#lastConnectionMs < RECOVERED_BY_CONNECTION_EVERY_MS) {
      this.answered();
      return;
    }
    this.#lastConnectionMs = nowMs;
    this.#recover();
  }

  #recover(): void {
    this.#isDegraded = false;
    this.#sinceMs = this.#options.now();
    this.#options.onRecovered();
  }
}
