/** Variants of settle tokens that nobody may settle. It knows their form, as an attacker would. */

const MAC_BYTES = 16;

/** `tokens`: at least two that are valid. Each variant once. */
export function forgedTokens(tokens: readonly string[], foreign: readonly string[]): string[] {
  const found = new Set<string>(foreign);
  for (const [i, token] of tokens.entries()) {
    const bytes = Buffer.from(token, 'base64url');
    const write = (change: (copy: Buffer) => Buffer) =>
      found.add(change(Buffer.from(bytes)).toString('base64url'));
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      write((copy) => {
        copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        return copy;
      });
    }
    for (let length = 1; length < bytes.length; length++) {
      write((copy) => copy.subarray(0, length));
      write((copy) => copy.subarray(length));
    }
    for (let length = 1; length < token.length; length++) found.add(token.slice(0, length));
    // What is signed by another token's signature, and two in a row.
    const other = Buffer.from(tokens[(i + 1) % tokens.length] ?? '', 'base64url');
    write((copy) => Buffer.concat([copy.subarray(0, -MAC_BYTES), other.subarray(-MAC_BYTES)]));
    write((copy) => Buffer.concat([copy, other]));
    write((copy) => Buffer.concat([copy, Buffer.alloc(1)]));
    write((copy) => copy.fill(0, copy.length - MAC_BYTES));
    write((copy) => copy.fill(255, copy.length - MAC_BYTES));
    const spellings = [
      ...[
        `${token}=`,
        `${token}==`,
        `${token}A`,
        `${token} `,
        ` ${token}`,
        `${token}\n`,
        `${token}\0`,
      ],
      ...[
        `${token}.`,
        token.toLowerCase(),
        token.toUpperCase(),
        token.split('').toReversed().join(''),
      ],
      bytes.toString('hex'),
      bytes.toString('latin1'),
      ...[`${token},${token}`, `Bearer ${token}`, `"${token}"`, token.repeat(100)],
    ];
    for (const each of spellings) found.add(each);
    const plain = bytes.toString('base64');
    found.add(plain);
  }
  for (const each of [
    '0',
    '{}',
    'null',
    'A'.repeat(600),
    'A'.repeat(60_000),
    '\u{1f600}'.repeat(99),
  ])
    found.add(each);
  for (const token of tokens) found.delete(token);
  return [...found];
}
