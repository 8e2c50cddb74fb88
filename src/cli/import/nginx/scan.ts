/** Splits the text of an NGINX file into words and signs, with their places. */
import { ImportError } from '../shared/finding.ts';
import type { SourcePlace } from '../shared/source.ts';

export interface Token {
  /** A word without its quotes, or one of the signs `;`, `{` and `}`. */
  readonly text: string;
  readonly isSign: boolean;
  readonly place: SourcePlace;
}

/** A configuration that people write is far smaller. */
const MAX_TOKENS = 300_000;
const SPACE = /\s/;

/** Throws an ImportError if a quote or a block of Lua has no end. */
export function scan(text: string, file: string): Token[] {
  const scanner = new Scanner(text, file);
  const tokens: Token[] = [];
  for (let token = scanner.next(); token !== undefined; token = scanner.next()) {
    tokens.push(token);
    if (tokens.length > MAX_TOKENS) {
      throw new ImportError(token.place, `the file has more than ${MAX_TOKENS} words`);
    }
    // Lua has other quotes and comments. Its block is one word.
    if (/_by_lua_block$/.test(token.text)) tokens.push(...scanner.foreignBlock());
  }
  return tokens;
}

class Scanner {
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;

  constructor(text: string, file: string) {
    this.#text = text.startsWith('\ufeff') ? text.slice(1) : text;
    this.#file = file;
  }

  next(): Token | undefined {
    this.#skipBlanks();
    const place = this.#place();
    const char = this.#text[this.#at];
    if (char === undefined) return undefined;
    if (char === ';' || char === '{' || char === '}') {
      this.#advance();
      return { text: char, isSign: true, place };
    }
    const quoted = char === '"' || char === "'";
    return { text: quoted ? this.#quoted(char, place) : this.#word(), isSign: false, place };
  }

  /** `{ ... }` with balanced braces, as two signs. */
  foreignBlock(): Token[] {
    const open = this.next();
    if (open?.text !== '{' || !open.isSign) return open === undefined ? [] : [open];
    let depth = 1;
    while (depth > 0) {
      const char = this.#text[this.#at];
      if (char === undefined) throw new ImportError(open.place, 'this block has no end: add a "}"');
      if (char === '"' || char === "'") this.#skipLuaText(char);
      if (char === '{') depth++;
      if (char === '}') depth--;
      this.#advance();
    }
    return [open, { text: '}', isSign: true, place: this.#place() }];
  }

  /** Up to its last quote, at most to the end of the line. */
  #skipLuaText(quote: string): void {
    let at = this.#at + 1;
    while (at < this.#text.length && this.#text[at] !== quote && this.#text[at] !== '\n') {
      at += this.#text[at] === '\\' ? 2 : 1;
    }
    if (this.#text[at] === quote) this.#at = at;
  }

  #skipBlanks(): void {
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      if (char === '#') {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end === -1 ? this.#text.length : end;
      } else if (SPACE.test(char)) this.#advance();
      else return;
    }
  }

  #word(): string {
    let word = '';
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      if (SPACE.test(char) || char === ';') break;
      if (char === '{' && !word.endsWith('$')) break;
      if (char === '}' && !/\$\{[^}]*$/.test(word.slice(-80))) break;
      if (char === '\\') word += this.#escaped();
      else {
        word += char;
        this.#advance();
      }
    }
    return word;
  }

  #quoted(quote: string, place: SourcePlace): string {
    let word = '';
    this.#advance();
    for (let char = this.#text[this.#at]; char !== quote; char = this.#text[this.#at]) {
      if (char === undefined)
        throw new ImportError(place, `this ${quote} has no end: add a ${quote}`);
      if (char === '\\') word += this.#escaped();
      else {
        word += char;
        this.#advance();
      }
    }
    this.#advance();
    return word;
  }

  /** A backslash stays, unless it stands before a quote or a space: regular expressions need theirs. */
  #escaped(): string {
    const next = this.#text[this.#at + 1] ?? '';
    this.#advance();
    if (next !== '') this.#advance();
    return /["' ;]/.test(next) ? next : `\\${next}`;
  }

  #advance(): void {
    if (this.#text[this.#at] === '\n') {
      this.#line++;
      this.#lineStart = this.#at + 1;
    }
    this.#at++;
  }

  #place(): SourcePlace {
    return { file: this.#file, line: this.#line, column: this.#at - this.#lineStart + 1 };
  }
}
