/** A key that was pressed. */
export interface Key {
  /** `up`, `return`, `escape`, `ctrl-c`; of a character, the character. */
  readonly name: string;
  /** The character to write; empty if it is none. */
  readonly text: string;
}

/** What readline says of a key. */
export interface Keypress {
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

const CONTROL = /^\p{Cc}/u;

/** `char` is undefined for a key that writes nothing. */
export function keyOf(char: string | undefined, { name = '', ctrl, meta }: Keypress): Key {
  if (ctrl === true) return { name: `ctrl-${name}`, text: '' };
  const isText = char !== undefined && char !== '' && meta !== true && !CONTROL.test(char);
  if (name === 'enter') return { name: 'return', text: '' };
  return isText ? { name: char, text: char } : { name, text: '' };
}
