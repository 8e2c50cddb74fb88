/** Reads strings in the Huffman code of HTTP/2 headers: https://www.rfc-editor.org/rfc/rfc7541#appendix-B */

/**
 * The bits of each byte's code as a digit of base 36, from byte 0 on. The code is canonical: codes of one length are
 * consecutive numbers in the order of their bytes, and begin after the codes of all shorter lengths.
 */
export const CODE_LENGTHS =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq';
const LONGEST = 30;

/**
 * Eight bits of input at a time are looked up in a table of 256 steps. The first table has all codes of up to eight bits;
 * a longer code leads from it to a table for its next eight bits. A step is one of:
 * - a byte, with the number of bits that belong to its code in the bits above it (1 to 8);
 * - the place where the next table begins, plus `NEXT`;
 * - `NONE`: the code for the end of the string, which must not occur.
 */
const NEXT = 0x8000;
const NONE = 0;
const STEPS = stepsOf(CODE_LENGTHS);

/** Strings of up to so many bytes are written here. */
const ROOM = Buffer.allocUnsafeSlow(4_096);
/** The shortest codes have five bits. */
const MOST_PER_BYTE = 8 / 5;

/**
 * Reads the bytes from `at` to `end`. The text has one character per byte, and keeps no memory of `bytes`. Undefined if
 * the bytes are no such code, or are filled up with anything but at most seven bits of 1.
 */
export function decodeHuffman(bytes: Buffer, at: number, end: number): string | undefined {
  const most = Math.ceil((end - at) * MOST_PER_BYTE);
  const text = most <= ROOM.length ? ROOM : Buffer.allocUnsafeSlow(most);
  let length = 0;
  let table = 0;
  /** The last `count` bits of `bits` are not read yet. */
  let bits = 0;
  let count = 0;
  for (let i = at; i < end; i++) {
    bits = (bits << 8) | (bytes[i] as number);
    count += 8;
    while (count >= 8) {
      const step = STEPS[table + ((bits >>> (count - 8)) & 0xff)] as number;
      if (step >= NEXT) {
        count -= 8;
        table = step - NEXT;
        continue;
      }
      if (step === NONE) return undefined;
      count -= step >>> 8;
      text[length++] = step & 0xff;
      table = 0;
    }
  }
  // The last codes are looked up as if many bits of 1 followed.
  for (;;) {
    const step = STEPS[table + (((bits << (8 - count)) | (0xff >>> count)) & 0xff)] as number;
    if (step >= NEXT || step >>> 8 > count || step === NONE) break;
    count -= step >>> 8;
    text[length++] = step & 0xff;
    table = 0;
  }
  const ones = (1 << count) - 1;
  return table === 0 && (bits & ones) === ones ? text.toString('latin1', 0, length) : undefined;
}

function stepsOf(lengths: string): Uint16Array {
  const steps = new Array<number>(256).fill(NONE);
  let code = 0;
  for (let length = 1; length <= LONGEST; length++) {
    code <<= 1;
    for (let byte = 0; byte < lengths.length; byte++) {
      if (Number.parseInt(lengths.charAt(byte), 36) !== length) continue;
      addCode(steps, byte, { code, length });
      code++;
    }
  }
  return Uint16Array.from(steps);
}

function addCode(steps: number[], byte: number, { code, length }: Code): void {
  let table = 0;
  let left = length;
  for (; left > 8; left -= 8) {
    const at = table + ((code >>> (left - 8)) & 0xff);
    if (steps[at] === NONE) {
      steps[at] = NEXT + steps.length;
      steps.push(...new Array<number>(256).fill(NONE));
    }
    table = (steps[at] as number) - NEXT;
  }
  const first = table + ((code << (8 - left)) & 0xff);
  steps.fill((left << 8) | byte, first, first + (1 << (8 - left)));
}

/** The last `length` bits of `code`. */
interface Code {
  readonly code: number;
  readonly length: number;
}
