/** Comparing the bytes of a text that repeats from message to message costs less than decoding them again. */

/** A power of two. */
const SLOTS = 256;
/** In bytes. Longer texts are decoded each time. */
const LONGEST = 32;

export class RepeatedTexts {
  /** A text replaces another one with the same hash, so callers that send many texts take no memory. */
  readonly #texts = new Array<string>(SLOTS).fill('');

  latin1(bytes: Buffer, start: number, end: number): string {
    if (end - start > LONGEST) return bytes.toString('latin1', start, end);
    let hash = 0;
    for (let at = start; at < end; at++) hash = (hash * 31 + (bytes[at] as number)) | 0;
    const slot = hash & (SLOTS - 1);
    const known = this.#texts[slot] as string;
    if (known.length === end - start && isAt(known, bytes, start)) return known;
    const text = bytes.toString('latin1', start, end);
    this.#texts[slot] = text;
    return text;
  }
}

function isAt(text: string, bytes: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
