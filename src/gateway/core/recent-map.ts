/**
 * A bounded cache of what was used recently. It has two generations: when the newer one is full, it becomes the older one,
 * and what the older one still had is dropped. A hit costs one look-up or two, and keeps no order of use.
 */
export class RecentMap<Value extends {}> {
  readonly #perGeneration: number;
  #newer = new Map<string, Value>();
  #older = new Map<string, Value>();

  /** Holds between `max / 2` and `max` values, once so many were set. */
  constructor(max: number) {
    this.#perGeneration = Math.ceil(max / 2);
  }

  get(key: string): Value | undefined {
    const found = this.#newer.get(key);
    if (found !== undefined) return found;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: Value): void {
    if (this.#newer.size >= this.#perGeneration) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  delete(key: string): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#newer = new Map();
    this.#older = new Map();
  }
}
