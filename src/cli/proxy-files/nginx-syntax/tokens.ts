/** Splits the text of an NGINX file into words and signs, by the rules of `ngx_conf_read_token`. */
import { LineCounter } from 'yaml';
import type { FilePlace } from '../file-place.ts';
import type { ProxyText } from '../read/proxy-files.ts';
import { NginxSyntaxError } from './directive.ts';

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
  readonly #lines = new LineCounter();
  #at: number;
  #words = 0;
  #isPart = false;

  constructor({ name, text }: ProxyText) {
    this.#file = name;
    this.#text = text;
    this.#at = text.startsWith('\ufeff') ? 1 : 0;
    this.#lines.addNewLine(this.#at);
    for (const { index } of text.matchAll(/\n/g)) this.#lines.addNewLine(index + 1);
  }

  /** Undefined at the end of the file. Throws an NginxSyntaxError. */
  next(): Token | undefined {
    while (this.#match(BLANKS) !== undefined || this.#skipComment());
    const start = this.#at;
    const char = this.#text[start];
    if (char === undefined) return undefined;
    if (++this.#words > MAX_WORDS)
      throw this.#error(`the file has more than ${MAX_WORDS} words`, start);
    const isSign = char === ';' || char === '{' || char === '}';
    const inside = isSign ? char : this.#word(char);
    this.#at += isSign ? 1 : 0;
    const written = this.#text.slice(start, this.#at);
    const text = inside.replaceAll(ESCAPED, (_, each: string) => CONTROL[each] ?? each);
    return { text, written, isSign, place: this.#placeOf(start), isPart: this.#isPart };
  }

  /** Skips Lua code with the brace that ends its block, after the one that begins it. */
  skipLua(): void {
    const end = endOfLua(this.#text, this.#at);
    if (end === undefined) {
      const reason = 'this block of Lua has no end: close its braces, texts and comments';
      throw this.#error(reason, this.#at);
    }
    this.#at = end;
  }

  #skipComment(): boolean {
    const start = this.#at;
    const [comment] = this.#match(COMMENT) ?? [];
    if (comment === undefined) return false;
    // The sign before it does not count.
    this.#refuseLonger(comment.length - 1, start);
    const mark = PART.exec(comment)?.[1];
    if (mark !== undefined) this.#isPart = mark !== 'end of part';
    return true;
  }

  #word(char: string): string {
    const start = this.#at;
    if (char === '"' || char === "'") return this.#quoted(char);
    const [word] = this.#match(WORD) ?? [];
    if (word === undefined) throw this.#error('the file ends with a backslash', start);
    this.#refuseLonger(word.length, start);
    return word;
  }

  #quoted(quote: '"' | "'"): string {
    const [, inside] = this.#match(QUOTED[quote]) ?? [];
    if (inside === undefined) {
      const reason = `this ${quote} has no end within ${MAX_LENGTH} characters: add a ${quote}`;
      throw this.#error(reason, this.#at);
    }
    const end = this.#at;
    if (this.#match(AFTER_QUOTED) === undefined) {
      const reason = `after this ${quote} a space, a ";" or a "{" is missing`;
      throw this.#error(reason, end - 1);
    }
    this.#at = end;
    return inside;
  }

  #refuseLonger(length: number, start: number): void {
    if (length > MAX_LENGTH) throw this.#error(`has more than ${MAX_LENGTH} characters`, start);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text) ?? undefined;
    this.#at += match?.[0].length ?? 0;
    return match;
  }

  #error(reason: string, at: number): NginxSyntaxError {
    return new NginxSyntaxError(this.#placeOf(at), reason);
  }

  #placeOf(at: number): FilePlace {
    const { line, col: column } = this.#lines.linePos(at);
    return { file: this.#file, line, column };
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
