/** Splits JavaScript or TypeScript into tokens with their places. It reads far more than it understands. */
import { ImportError } from '../shared/finding.ts';
import type { SourcePlace } from '../shared/source.ts';

export type TokenKind = 'name' | 'number' | 'text' | 'template' | 'regex' | 'sign';

export interface Token {
  readonly kind: TokenKind;
  /** A text without its quotes and escapes, a regular expression without its slashes. */
  readonly text: string;
  /** Where it begins and ends in the source. */
  readonly from: number;
  readonly to: number;
  readonly place: SourcePlace;
}

const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_TOKENS = 400_000;
const MAX_DEPTH = 50;

/** After these, a slash begins a regular expression. */
const BEFORE_REGEX = /^(return|typeof|case|in|of|new|delete|void|throw|else|do|await|yield)$/;
const SPACE = /\s/;
const NAME_START = /[\p{L}_$#@]/u;
const NAME_PART = /[\p{L}\p{N}_$]/u;
const SIGNS = ['=>', '...', '?.', '??', '||', '&&', '**'];

/** Throws an ImportError if the text is larger than any source that people write. */
export function scan(text: string, file: string): Token[] {
  if (text.length > MAX_CHARACTERS) {
    throw new ImportError(
      { file, line: 1, column: 1 },
      `the file has more than ${MAX_CHARACTERS} characters`,
    );
  }
  const scanner = new Scanner(text, file);
  const tokens: Token[] = [];
  for (let token = scanner.next(undefined); token !== undefined; token = scanner.next(token)) {
    tokens.push(token);
    if (tokens.length > MAX_TOKENS)
      throw new ImportError(token.place, `the file has more than ${MAX_TOKENS} words`);
  }
  return tokens;
}

class Scanner {
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;
  #counted = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    if (text.startsWith('#!')) this.#at = this.#lineEnd();
  }

  /** `before` decides what a slash means. */
  next(before: Token | undefined): Token | undefined {
    this.#skipBlanks();
    const char = this.#text[this.#at];
    if (char === undefined) return undefined;
    const from = this.#at;
    const place = this.#place();
    const [kind, text] = this.#token(char, before);
    return { kind, text, from, to: this.#at, place };
  }

  #token(char: string, before: Token | undefined): [TokenKind, string] {
    if (char === '"' || char === "'") return ['text', this.#quoted(char)];
    if (char === '`') return ['template', this.#template(0)];
    if (char === '/' && beginsRegex(before)) return ['regex', this.#regex()];
    if (/\d/.test(char) || (char === '.' && /\d/.test(this.#text[this.#at + 1] ?? ''))) {
      return ['number', this.#while(/[\w.]/)];
    }
    if (NAME_START.test(char)) {
      this.#at++;
      return ['name', char + this.#while(NAME_PART)];
    }
    const sign = SIGNS.find((each) => this.#text.startsWith(each, this.#at)) ?? char;
    this.#at += sign.length;
    return ['sign', sign];
  }

  #while(pattern: RegExp): string {
    const from = this.#at;
    while (this.#at < this.#text.length && pattern.test(this.#text[this.#at] ?? '')) this.#at++;
    return this.#text.slice(from, this.#at);
  }

  #skipBlanks(): void {
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      if (SPACE.test(char) || char === '\ufeff') this.#at++;
      else if (this.#text.startsWith('//', this.#at)) this.#at = this.#lineEnd();
      else if (this.#text.startsWith('/*', this.#at)) {
        const end = this.#text.indexOf('*/', this.#at + 2);
        this.#at = end === -1 ? this.#text.length : end + 2;
      } else return;
    }
  }

  #lineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end === -1 ? this.#text.length : end;
  }

  /** A text ends at the end of its line, even without a quote. */
  #quoted(quote: string): string {
    let text = '';
    this.#at++;
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      this.#at++;
      if (char === quote || char === '\n') break;
      if (char === '\\') text += this.#text[this.#at++] ?? '';
      else text += char;
    }
    return text;
  }

  /** With `${` in the text if it has expressions. */
  #template(depth: number): string {
    const from = ++this.#at;
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      this.#at++;
      if (char === '`') return this.#text.slice(from, this.#at - 1);
      if (char === '\\') this.#at++;
      if (char === '$' && this.#text[this.#at] === '{') this.#expression(depth + 1);
    }
    return this.#text.slice(from);
  }

  #expression(depth: number): void {
    let braces = 0;
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      if (char === '`' && depth < MAX_DEPTH) this.#template(depth);
      else if (char === '"' || char === "'") this.#quoted(char);
      else {
        this.#at++;
        if (char === '{') braces++;
        if (char === '}' && --braces === 0) return;
      }
    }
  }

  #regex(): string {
    const from = ++this.#at;
    let isClass = false;
    for (
      let char = this.#text[this.#at];
      char !== undefined && char !== '\n';
      char = this.#text[this.#at]
    ) {
      this.#at++;
      if (char === '\\') this.#at++;
      else if (char === '[') isClass = true;
      else if (char === ']') isClass = false;
      else if (char === '/' && !isClass) break;
    }
    const text = this.#text.slice(from, this.#at - 1);
    this.#while(/[a-z]/);
    return text;
  }

  #place(): SourcePlace {
    for (let at = this.#counted; at < this.#at; at++) {
      if (this.#text[at] !== '\n') continue;
      this.#line++;
      this.#lineStart = at + 1;
    }
    this.#counted = this.#at;
    return { file: this.#file, line: this.#line, column: this.#at - this.#lineStart + 1 };
  }
}

function beginsRegex(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === 'name') return BEFORE_REGEX.test(before.text);
  return before.kind === 'sign' && !/^[)\]}]$/.test(before.text);
}
