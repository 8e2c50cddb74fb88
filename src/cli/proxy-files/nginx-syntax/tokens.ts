/** Splits the text of an NGINX file into words and signs, by the rules of `ngx_conf_read_token`. */
import type { FilePlace } from '../file-place.ts';
import type { ProxyText } from '../read/proxy-files.ts';
import { NginxSyntaxError } from './syntax-error.ts';

export interface Token {
  /** A word without its quotes and escapes, or one of the signs `;`, `{` and `}`. */
  readonly text: string;
  /** The text in the file. */
  readonly written: string;
  readonly isSign: boolean;
  readonly place: FilePlace;
  readonly isPart: boolean;
}

/** NGINX refuses longer words and comments. */
const MAX_LENGTH = 4_094;
/** The largest files that people have are lists of networks. */
const MAX_WORDS = 2_000_000;

const BLANKS = /[ \t\r\n]+/y;
const COMMENT = /#[^\n]*/y;
/** A backslash takes the character after it out of its meaning, and so does a dollar before a brace. */
const WORD = /(?:\\[\s\S]|\$\{|[^\\ \t\r\n;{]){1,4095}/y;
const QUOTED = {
  '"': /"((?:\\[\s\S]|[^"\\]){0,4093})"/y,
  "'": /'((?:\\[\s\S]|[^'\\]){0,4093})'/y,
};
const AFTER_QUOTED = /[ \t\r\n;{)]|$/y;

const ESCAPED = /\\(["'\\trn])/g;
const CONTROL: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n' };

/** The comments around a part that `headgate proxy-config --include` prints. */
const PART = /^# headgate: (part for |end of part)/;

/** In Lua, an apostrophe or a brace may stand in a long bracket, a comment or a text. */
const LUA = /(?:--)?\[(=*)\[|--[^\n]*|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'|[{}]/g;

export class NginxTokens {
  readonly #file: string;
  readonly #text: string;
  #at: number;
  #line = 1;
  #lineStart = 0;
  #lineEnd: number;
  #words = 0;
  #isPart = false;

  constructor({ name, text }: ProxyText) {
    this.#file = name;
    this.#text = text;
    this.#at = text.startsWith('\ufeff') ? 1 : 0;
    this.#lineStart = this.#at;
    this.#lineEnd = this.#endOfLine(this.#at);
  }

  /** Undefined at the end of the file. Throws an NginxSyntaxError. */
  next(): Token | undefined {
    this.#skipBlanks();
    const char = this.#text[this.#at];
    if (char === undefined) return undefined;
    const place = this.#place();
    if (++this.#words > MAX_WORDS)
      throw new NginxSyntaxError(place, `the file has more than ${MAX_WORDS} words`);
    const isPart = this.#isPart;
    if (char === ';' || char === '{' || char === '}') {
      this.#at++;
      return { text: char, written: char, isSign: true, place, isPart };
    }
    const start = this.#at;
    const inside = char === '"' || char === "'" ? this.#quoted(char) : this.#word();
    const written = this.#text.slice(start, this.#at);
    const text = inside.replaceAll(ESCAPED, (_, each: string) => CONTROL[each] ?? each);
    return { text, written, isSign: false, place, isPart };
  }

  /** Skips Lua code with the brace that ends its block, after the one that begins it. */
  skipLua(): void {
    const end = endOfLua(this.#text, this.#at);
    if (end === undefined) {
      const reason = 'this block of Lua has no end: close its braces, texts and comments';
      throw new NginxSyntaxError(this.#place(), reason);
    }
    this.#at = end;
  }

  #skipBlanks(): void {
    while (this.#match(BLANKS) !== undefined || this.#skipComment());
  }

  #skipComment(): boolean {
    const place = this.#text[this.#at] === '#' ? this.#place() : undefined;
    const [comment] = this.#match(COMMENT) ?? [];
    if (comment === undefined || place === undefined) return false;
    // The sign before it does not count.
    this.#refuseLonger(comment.length - 1, place);
    const mark = PART.exec(comment)?.[1];
    if (mark !== undefined) this.#isPart = mark !== 'end of part';
    return true;
  }

  #word(): string {
    const place = this.#place();
    const [word] = this.#match(WORD) ?? [];
    if (word === undefined) throw new NginxSyntaxError(place, 'the file ends with a backslash');
    this.#refuseLonger(word.length, place);
    return word;
  }

  #quoted(quote: '"' | "'"): string {
    const place = this.#place();
    const [, inside] = this.#match(QUOTED[quote]) ?? [];
    if (inside === undefined) {
      const reason = `this ${quote} has no end within ${MAX_LENGTH} characters: add a ${quote}`;
      throw new NginxSyntaxError(place, reason);
    }
    if (this.#match(AFTER_QUOTED) === undefined) {
      const reason = `after this ${quote} a space, a ";" or a "{" is missing`;
      throw new NginxSyntaxError(this.#place(-1), reason);
    }
    this.#at = QUOTED[quote].lastIndex;
    return inside;
  }

  #refuseLonger(length: number, place: FilePlace): void {
    if (length > MAX_LENGTH)
      throw new NginxSyntaxError(place, `has more than ${MAX_LENGTH} characters`);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text) ?? undefined;
    this.#at += match?.[0].length ?? 0;
    return match;
  }

  #place(shift = 0): FilePlace {
    const at = this.#at + shift;
    while (this.#lineEnd < at) {
      this.#line++;
      this.#lineStart = this.#lineEnd + 1;
      this.#lineEnd = this.#endOfLine(this.#lineStart);
    }
    return { file: this.#file, line: this.#line, column: at - this.#lineStart + 1 };
  }

  #endOfLine(start: number): number {
    const end = this.#text.indexOf('\n', start);
    return end === -1 ? this.#text.length : end;
  }
}

/** Returns the index after the brace that closes the block, if all of its brackets have an end. */
function endOfLua(text: string, start: number): number | undefined {
  let depth = 1;
  LUA.lastIndex = start;
  for (let match = LUA.exec(text); match !== null; match = LUA.exec(text)) {
    const [token, level] = match;
    if (level !== undefined) {
      const closing = `]${level}]`;
      const end = text.indexOf(closing, LUA.lastIndex);
      if (end === -1) return undefined;
      LUA.lastIndex = end + closing.length;
    }
    if (token === '{') depth++;
    if (token === '}' && --depth === 0) return LUA.lastIndex;
  }
  return undefined;
}
