/** Refuses what NGINX refuses, and knows no directives but those that differ in syntax. */
import { lineText } from '../file-place.ts';
import type { ProxyText } from '../read/proxy-files.ts';
import { type Directive, NginxSyntaxError } from './directive.ts';
import { NginxTokens, type Token } from './tokens.ts';

const MAX_DEPTH = 50;
/** Their lines are values, and none of them is a block. */
const OF_VALUES: ReadonlySet<string> = new Set([
  ...['map', 'geo', 'types', 'charset_map', 'split_clients'],
]);
const LUA_BLOCK = /_by_lua_block$/;
/** The rest of `location ~ ^/x{1,2}$ {`: for NGINX, the first brace begins the block. */
const REST_OF_EXPRESSION = /^\d+(,\d*)?\}/;

/** Throws an NginxSyntaxError. Includes are directives like others. */
export function parseNginx(file: ProxyText): Directive[] {
  try {
    return new NginxParser(file).read();
  } catch (error) {
    const isTemplate = /\{[{%]/.test(file.text);
    if (!(error instanceof NginxSyntaxError) || !isTemplate) throw error;
    const reason = `${error.reason}. It looks like a template: render it first`;
    throw new NginxSyntaxError(error.place, reason);
  }
}

class NginxParser {
  readonly #tokens: NginxTokens;
  #next: Token | undefined;

  constructor(file: ProxyText) {
    this.#tokens = new NginxTokens(file);
    this.#next = this.#tokens.next();
  }

  read(): Directive[] {
    const directives = this.#block(0, undefined);
    if (this.#next !== undefined)
      throw new NginxSyntaxError(this.#next.place, 'this "}" closes no block: remove it');
    return directives;
  }

  #block(depth: number, opener: Directive | undefined): Directive[] {
    const directives: Directive[] = [];
    for (let token = this.#next; token !== undefined; token = this.#next) {
      if (!token.isSign) directives.push(this.#directive(depth, opener));
      else if (token.text !== '}')
        throw new NginxSyntaxError(token.place, `nothing stands before this "${token.text}"`);
      else {
        if (opener !== undefined) this.#advance();
        return directives;
      }
    }
    if (opener === undefined) return directives;
    const reason = `the block of "${opener.name}" has no end: add a "}"`;
    throw new NginxSyntaxError(opener.place, reason);
  }

  #directive(depth: number, around: Directive | undefined): Directive {
    const { text: name, place, isPart } = this.#next as Token;
    if (REST_OF_EXPRESSION.test(name)) {
      const reason = 'a "{" begins a block: put a regular expression with braces in quotes';
      throw new NginxSyntaxError(place, reason);
    }
    const args: string[] = [];
    const written: string[] = [];
    let token = this.#advance();
    for (; token !== undefined && !token.isSign; token = this.#advance()) {
      args.push(token.text);
      written.push(token.written);
    }
    if (token === undefined || token.text === '}')
      throw new NginxSyntaxError(place, `"${name}" has no end: add a ";"`);
    const directive = { name, args, written, block: [], place, where: lineText(place), isPart };
    if (token.text === ';') {
      this.#advance();
      return directive;
    }
    if (OF_VALUES.has(around?.name ?? '')) {
      const reason = `"${around?.name}" has no blocks in it: put a text with "{" in quotes`;
      throw new NginxSyntaxError(token.place, reason);
    }
    if (depth >= MAX_DEPTH)
      throw new NginxSyntaxError(token.place, `blocks are nested deeper than ${MAX_DEPTH} levels`);
    if (LUA_BLOCK.test(name)) this.#tokens.skipLua();
    this.#advance();
    return LUA_BLOCK.test(name)
      ? directive
      : { ...directive, block: this.#block(depth + 1, directive) };
  }

  #advance(): Token | undefined {
    this.#next = this.#tokens.next();
    return this.#next;
  }
}
