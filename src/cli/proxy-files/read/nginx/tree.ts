/** Reads the directives of an NGINX file. It accepts more than NGINX does, because NGINX checks its file itself. */

import type { ProxyText } from '../proxy-files.ts';
import { withoutLua } from './lua-blocks.ts';

export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  /** The directives between its braces; empty without braces. */
  readonly block: readonly Directive[];
  /** `nginx.conf:12` */
  readonly place: string;
  /** It stands in a part that headgate has printed. */
  readonly isPart: boolean;
}

/** A comment, a quoted text, one of the signs that need no space around them, or a word. */
const TOKEN =
  /#[^\n]*|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[{};]|(?:\$\{[^{}]*\}|[^\s{};])+/g;
const PART = /^# headgate: (part for |end of part)/;
const MAX_DEPTH = 50;

interface Token {
  readonly text: string;
  readonly line: number;
  readonly isPart: boolean;
}

export function nginxTree({ name: file, text }: ProxyText): Directive[] {
  const tokens = tokensOf(withoutLua(text));
  let at = 0;
  const block = (depth: number): Directive[] => {
    const directives: Directive[] = [];
    let words: Token[] = [];
    while (at < tokens.length) {
      const token = tokens[at++];
      if (token === undefined || token.text === '}') break;
      if (token.text !== ';' && token.text !== '{') {
        words.push(token);
        continue;
      }
      const [name = '', ...args] = words.map((word) => unquoted(word.text));
      const { line, isPart } = words[0] ?? token;
      words = [];
      const inner = token.text === '{' && depth < MAX_DEPTH ? block(depth + 1) : [];
      directives.push({ name, args, block: inner, place: `${file}:${line}`, isPart });
    }
    return directives;
  };
  return block(0);
}

/** Every directive, at any depth. */
export function everyDirective(directives: readonly Directive[]): Directive[] {
  return directives.flatMap((each) => [each, ...everyDirective(each.block)]);
}

/** As a file has it: `add_header X-A "b c";`. */
export function lineOf({ name, args }: Pick<Directive, 'name' | 'args'>): string {
  const quoted = args.map((each) => {
    if (!/[\s;"'#]|^$|(?<!\$)[{}]/.test(each)) return each;
    return /(?<!\\)"/.test(each) ? `'${each}'` : `"${each}"`;
  });
  return `${[name, ...quoted].join(' ')};`;
}

/** Without comments. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let counted = 0;
  let isPart = false;
  for (const match of text.matchAll(TOKEN)) {
    const [token] = match;
    for (; counted < match.index; counted++) if (text[counted] === '\n') line++;
    const mark = PART.exec(token)?.[1];
    if (mark !== undefined) isPart = mark !== 'end of part';
    if (!token.startsWith('#')) tokens.push({ text: token, line, isPart });
  }
  return tokens;
}

function unquoted(token: string): string {
  return /^(["'])[\s\S]*\1$/.test(token) ? token.slice(1, -1) : token;
}
