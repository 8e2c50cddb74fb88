/** Writes strings in the Huffman code of HTTP/2 headers: https://www.rfc-editor.org/rfc/rfc7541#appendix-B */
import { CODE_LENGTHS } from '../../../src/gateway/http2/hpack/huffman.ts';

/** The bits of each byte's code. */
const CODES = codesOf([...CODE_LENGTHS].map((digit) => Number.parseInt(digit, 36)));

export function huffman(bytes: Uint8Array): Buffer {
  const bits = Array.from(bytes, (byte) => CODES[byte]).join('');
  const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(
    Array.from({ length: whole.length / 8 }, (_, i) =>
      Number.parseInt(whole.slice(8 * i, 8 * i + 8), 2),
    ),
  );
}

/** One length follows the other, so a code is the one before it, plus one, and filled up with 0. */
function codesOf(lengths: readonly number[]): string[] {
  const order = lengths.map((length, byte) => ({ length, byte }));
  order.sort((a, b) => a.length - b.length || a.byte - b.byte);
  const codes: string[] = [];
  let next = 0;
  let before = order[0]?.length ?? 0;
  for (const { length, byte } of order) {
    next *= 2 ** (length - before);
    codes[byte] = next.toString(2).padStart(length, '0');
    next++;
    before = length;
  }
  return codes;
}
