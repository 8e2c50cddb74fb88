/** Variants of settle tokens that nobody may settle. It knows their form, as an attacker would. */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const MAC_LENGTH = 22;

/** `tokens`: at least two that are valid. Each variant once. */
export function forgedTokens(tokens: readonly string[], foreign: readonly string[]): string[] {
  const found = new Set<string>(foreign);
  for (const [i, token] of tokens.entries()) {
    for (const [place, digit] of [...token].entries()) {
      for (let bit = 1; bit < 64; bit *= 2) {
        const changed = DIGITS.charAt(DIGITS.indexOf(digit) ^ bit);
        found.add(token.slice(0, place) + changed + token.slice(place + 1));
      }
    }
    for (let length = 1; length < token.length; length++) {
      found.add(token.slice(0, length));
      found.add(token.slice(length));
    }
    // What is signed by another token's signature, and two in a row.
    const other = tokens[(i + 1) % tokens.length] ?? '';
    const signed = token.slice(0, -MAC_LENGTH);
    found.add(signed + other.slice(-MAC_LENGTH));
    found.add(signed + 'A'.repeat(MAC_LENGTH));
    found.add(signed + '_'.repeat(MAC_LENGTH));
    found.add(token + other);
    const bytes = Buffer.from(token, 'base64url');
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
