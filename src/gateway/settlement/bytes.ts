/** Bytes as a string with one character for each: V8 joins strings faster than it fills buffers. */
export type Bytes = string;

export class ByteWriter {
  text: Bytes = '';

  bytes(bytes: Bytes): void {
    this.text += bytes;
  }

  /** A whole number of 0 or more, its highest byte first. */
  number(value: number, length: number): void {
    let [bytes, rest] = ['', value];
    for (let i = 0; i < length; i++) {
      bytes = String.fromCharCode(rest % 256) + bytes;
      rest = Math.floor(rest / 256);
    }
    this.text += bytes;
  }

  /** A whole number of 0 or more: seven bits for each byte, the lowest first; each byte but the last has its high bit set. */
  varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.text += String.fromCharCode((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.text += String.fromCharCode(rest);
  }
}

/** After the end, it reads zeros, and says that it was cut. */
export class ByteReader {
  readonly #text: Bytes;
  #at = 0;

  constructor(text: Bytes) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  get isCut(): boolean {
    return this.#at > this.#text.length;
  }

  skip(length: number): void {
    this.#at += length;
  }

  bytes(length: number): Bytes {
    const start = this.#at;
    this.skip(length);
    return this.#text.slice(start, this.#at);
  }

  number(length: number): number {
    let value = 0;
    for (let i = 0; i < length; i++) value = value * 256 + this.#byte();
    return value;
  }

  varint(): number {
    let [value, weight] = [0, 1];
    for (let byte = this.#byte(); ; byte = this.#byte()) {
      value += (byte % 128) * weight;
      if (byte < 128) return value;
      weight *= 128;
    }
  }

  #byte(): number {
    const byte = this.isAtEnd ? 0 : this.#text.charCodeAt(this.#at);
    this.#at++;
    return byte;
  }
}
