/** Text of base64url characters (RFC 4648, section 5). Each is a digit of six bits; V8 joins strings faster than it fills buffers. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, DIGITS.indexOf(String.fromCharCode(code))),
);

/** A whole number from 0 to 64 ** length - 1, its highest digit first. */
export function digits(value: number, length: number): string {
  let [text, rest] = ['', value];
  for (let i = 0; i < length; i++) {
    text = DIGITS.charAt(rest % 64) + text;
    rest = Math.floor(rest / 64);
  }
  return text;
}

/** A whole number of 0 or more: five bits in each digit, the lowest first; each digit but the last has its high bit set. */
export function varint(value: number): string {
  let [text, rest] = ['', value];
  while (rest >= 32) {
    text += DIGITS.charAt((rest % 32) + 32);
    rest = Math.floor(rest / 32);
  }
  return text + DIGITS.charAt(rest);
}

/** After the end, it reads zeros, and says that it was cut. */
export class DigitReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  get isCut(): boolean {
    return this.#at > this.#text.length;
  }

  text(length: number): string {
    const start = this.#at;
    this.#at += length;
    return this.#text.slice(start, this.#at);
  }

  digits(length: number): number {
    let value = 0;
    for (let i = 0; i < length; i++) value = value * 64 + this.#digit();
    return value;
  }

  varint(): number {
    let [value, weight] = [0, 1];
    for (let digit = this.#digit(); ; digit = this.#digit()) {
      value += (digit % 32) * weight;
      if (digit < 32) return value;
      weight *= 32;
    }
  }

  #digit(): number {
    const digit = this.isAtEnd ? 0 : VALUES[this.#text.charCodeAt(this.#at)];
    this.#at++;
    return digit ?? 0;
  }
}
