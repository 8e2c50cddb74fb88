/** Numbers in a typed array that grows. Ten million entries of a log would not fit into memory as objects. */
type NumberArray = Float64Array | Uint32Array | Uint8Array;

const FIRST_CAPACITY = 1_024;

class Column<T extends NumberArray> {
  readonly #create: (capacity: number) => T;
  #values: T;
  #length = 0;

  constructor(create: (capacity: number) => T) {
    this.#create = create;
    this.#values = create(FIRST_CAPACITY);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const values = this.#create(2 * this.#length);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.#length++] = value;
  }

  /** All values so far. Not valid after the next `push`. */
  get values(): T {
    return this.#values.subarray(0, this.#length) as T;
  }
}

export const moments = () => new Column((capacity) => new Float64Array(capacity));
export const numbers = () => new Column((capacity) => new Uint32Array(capacity));
export const bytes = () => new Column((capacity) => new Uint8Array(capacity));

/** The indexes of `keys`, sorted by key; those of one key stay in order. `keys` are below `distinct`. */
export function sortedByKey(keys: Uint32Array, distinct: number): Uint32Array {
  const next = new Uint32Array(distinct + 1);
  for (const key of keys) next[key + 1] = (next[key + 1] as number) + 1;
  for (let key = 0; key < distinct; key++) {
    next[key + 1] = (next[key + 1] as number) + (next[key] as number);
  }
  const order = new Uint32Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as number;
    const place = next[key] as number;
    order[place] = i;
    next[key] = place + 1;
  }
  return order;
}
