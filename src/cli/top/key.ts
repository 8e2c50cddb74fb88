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
const ESCAPE: Key = { name: 'escape', text: '' };
/** Besides characters, the keys that readline takes for one with Esc if they follow it at once. */
const AFTER_ESCAPE: readonly string[] = ['return', 'enter', 'tab', 'backspace', 'space'];

/** `char` is undefined for a key that writes nothing. */
export function keysOf(char: string | undefined, { name = '', ctrl, meta }: Keypress): Key[] {
  if (ctrl === true) return [{ name: `ctrl-${name}`, text: '' }];
  if (meta === true && (name.length === 1 || AFTER_ESCAPE.includes(name))) {
    return [ESCAPE, ...keysOf(name.length === 1 ? name : char, { name })];
  }
  if (name === 'enter') return [{ name: 'return', text: '' }];
  const isText = char !== undefined && char !== '' && !CONTROL.test(char);
  return [isText ? { name: char, text: char } : { name, text: '' }];
}
