/** Undoes the escapes that logs write inside quotes. Results have one character per byte. */
import type { Escape } from './layout.ts';

const BACKSLASHED = /\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|([^xu]))/g;
const HASHED = /#([0-9A-Fa-f]{2})/g;
const LETTERS: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
};

export function unescaped(text: string, escapes: Escape): string {
  if (escapes === 'backslash' && text.includes('\\')) {
    return text.replace(BACKSLASHED, (found) => {
      if (found.length > 2) return charOf(found.slice(-2));
      const letter = found.charAt(1);
      return LETTERS[letter] ?? letter;
    });
  }
  if (escapes === 'hash' && text.includes('#')) {
    return text.replace(HASHED, (found) => charOf(found.slice(1)));
  }
  return text;
}

function charOf(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}
