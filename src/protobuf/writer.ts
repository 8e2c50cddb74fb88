/**
 * Writes protobuf messages (protobuf.dev/programming-guides/encoding) from their end to their beginning, so fields are
 * written in reverse order: the length of a part stands before it, and is known once the part is written.
 */
const VARINT = 0;
const LENGTH_DELIMITED = 2;

export class ProtobufWriter {
  readonly #bytes: Buffer;
  #position: number;

  /** `capacity`: at least as many bytes as will be written. */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity);
    this.#position = capacity;
  }

  /** Where the last part that was written begins, and where the next one ends. */
  get position(): number {
    return this.#position;
  }

  /** A field with a natural number. */
  number(field: number, value: number): void {
    this.#varint(value);
    this.#varint(field * 8 + VARINT);
  }

  text(field: number, text: string): void {
    const length = Buffer.byteLength(text);
    this.#position -= length;
    if (length === text.length) this.#bytes.write(text, this.#position, 'latin1');
    else this.#bytes.write(text, this.#position, 'utf8');
    this.#varint(length);
    this.#varint(field * 8 + LENGTH_DELIMITED);
  }

  /** A field that holds the message written since `end`. */
  message(field: number, end: number): void {
    this.#varint(end - this.#position);
    this.#varint(field * 8 + LENGTH_DELIMITED);
  }

  written(): Buffer {
    return this.#bytes.subarray(this.#position);
  }

  /** Seven bits per byte, the lowest first; each byte but the last has its high bit set. */
  #varint(value: number): void {
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
    this.#position -= size;
    let rest = value;
    for (let at = this.#position; rest >= 128; at++) {
      this.#bytes[at] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#position + size - 1] = rest;
  }
}
