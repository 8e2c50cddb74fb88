/** The fields that a peer has sent before and refers to: https://www.rfc-editor.org/rfc/rfc7541#section-4 */

/** What an entry counts beside the bytes of its name and value. */
const ENTRY_OVERHEAD = 32;

/** Texts have one character per byte. */
export class DynamicTable {
  /** A ring of names, and of values at the same places. Its length is a power of two. */
  readonly #names: string[];
  readonly #values: string[];
  readonly #mask: number;
  #limit: number;
  /** How many entries were ever added. */
  #added = 0;
  /** How many of them are left. */
  length = 0;
  #bytes = 0;

  /** The table begins with `limit` bytes, and may be resized to at most `most`. */
  constructor(limit: number, most: number) {
    const entries = Math.max(limit, most) / ENTRY_OVERHEAD;
    const slots = 2 ** Math.ceil(Math.log2(Math.max(1, entries)));
    this.#names = new Array<string>(slots).fill('');
    this.#values = new Array<string>(slots).fill('');
    this.#mask = slots - 1;
    this.#limit = limit;
  }

  /** 0 is the newest entry. It must be less than `length`. */
  name(index: number): string {
    return this.#names[(this.#added - 1 - index) & this.#mask] as string;
  }

  value(index: number): string {
    return this.#values[(this.#added - 1 - index) & this.#mask] as string;
  }

  /** An entry that is larger than the table empties it: section 4.4. */
  add(name: string, value: string): void {
    const bytes = name.length + value.length + ENTRY_OVERHEAD;
    this.#shrinkTo(this.#limit - bytes);
    if (bytes > this.#limit) return;
    const slot = this.#added & this.#mask;
    this.#names[slot] = name;
    this.#values[slot] = value;
    this.#added = (this.#added + 1) | 0;
    this.length++;
    this.#bytes += bytes;
  }

  resize(limit: number): void {
    this.#limit = limit;
    this.#shrinkTo(limit);
  }

  /** Drops the oldest entries, and their texts from memory, until at most so many bytes are left or no entry is. */
  #shrinkTo(most: number): void {
    while (this.#bytes > most && this.length > 0) {
      const slot = (this.#added - this.length) & this.#mask;
      const bytes = (this.#names[slot] as string).length + (this.#values[slot] as string).length;
      this.#bytes -= bytes + ENTRY_OVERHEAD;
      this.#names[slot] = '';
      this.#values[slot] = '';
      this.length--;
    }
  }
}
