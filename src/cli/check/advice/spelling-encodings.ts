export function hex(code: number, digits = 2): string {
  return code.toString(16).padStart(digits, '0');
}

export function escaped(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${hex(byte)}`).join('');
}

/** UTF-8 with more bytes than the character needs. It is invalid, and some servers decode it all the same. */
export function overlong(text: string, bytes: 2 | 3 | 4): string {
  return [...text].map((char) => overlongCharacter(char.charCodeAt(0), bytes)).join('');
}

const OVERLONG_LEADS = { 2: 0xc0, 3: 0xe0, 4: 0xf0 };

function overlongCharacter(code: number, bytes: 2 | 3 | 4): string {
  const lower = [];
  for (let i = bytes - 2; i >= 0; i--) lower.push(0x80 | ((code >> (6 * i)) & 0x3f));
  const lead = OVERLONG_LEADS[bytes] | (code >> (6 * (bytes - 1)));
  return [lead, ...lower].map((byte) => `%${hex(byte)}`).join('');
}

/** The notation of JScript and IIS. */
export function percentU(text: string): string {
  return [...text].map((char) => `%u${hex(char.charCodeAt(0), 4)}`).join('');
}

/** Full-width characters, which compatibility normalisation turns into ASCII. */
export function fullwidth(text: string): string {
  return [...text].map((char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0)).join('');
}

/** Circled letters, from U+24D0. */
export function circled(letter: string): string {
  return /[a-z]/i.test(letter)
    ? String.fromCharCode(letter.toLowerCase().charCodeAt(0) - 0x61 + 0x24d0)
    : letter;
}

export function otherCase(letter: string): string {
  const upper = letter.toUpperCase();
  return upper === letter ? letter.toLowerCase() : upper;
}

/** Escapes `%` itself, so that one more round of decoding is needed. */
export function again(text: string): string {
  return text.replaceAll('%', '%25');
}

/** Replaces escapes of bytes beyond ASCII by the bytes. */
export function asBytes(text: string): string {
  return text.replace(/%([89a-f][0-9a-f])/gi, (_, digits) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}
