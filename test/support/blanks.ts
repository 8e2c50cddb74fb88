/** The blanks that some language trims: Node, Python, Go, Java, PHP and Ruby. One character per byte. */
const ASCII = [0, 9, 10, 11, 12, 13, 28, 29, 30, 31, 32];
const LATIN_1 = [0x85, 0xa0];
const BEYOND_ASCII = [
  ...[0x85, 0xa0, 0x1680, 0x180e, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff],
  ...Array.from({ length: 12 }, (_, i) => 0x2000 + i),
];

export const BLANKS: readonly string[] = [
  ...[...ASCII, ...LATIN_1].map((code) => String.fromCharCode(code)),
  ...BEYOND_ASCII.map((code) => Buffer.from(String.fromCodePoint(code)).toString('latin1')),
];

/** The value with a blank before it, behind it, and around it, and with many. */
export function withBlanks(value: string, blank: string): string[] {
  const many = blank.repeat(20);
  return [blank + value, value + blank, blank + value + blank, many + value, value + many];
}
