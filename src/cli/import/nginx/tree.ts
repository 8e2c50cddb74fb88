/** Reads the directives of an NGINX configuration, those of included files too. */
import { ImportError } from '../shared/finding.ts';
import type { SourcePlace } from '../shared/source.ts';
import { scan, type Token } from './scan.ts';

export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  /** The directives between its braces; empty without braces. */
  readonly block: readonly Directive[];
  readonly place: SourcePlace;
}

const MAX_DEPTH = 50;

/** `include` gives the directives that stand in place of an include line. */
export type Include = (directive: Directive) => readonly Directive[];

/** Throws an ImportError if braces or semicolons are missing. */
export function readTree(text: string, file: string, include: Include): Directive[] {
  return new TreeReader(scan(text, file), include).read();
}

class TreeReader {
  readonly #tokens: readonly Token[];
  readonly #include: Include;
  #at = 0;

  constructor(tokens: readonly Token[], include: Include) {
    this.#tokens = tokens;
    this.#include = include;
  }

  read(): Directive[] {
    const directives = this.#block(0, undefined);
    const left = this.#tokens[this.#at];
    if (left !== undefined)
      throw new ImportError(left.place, 'this "}" closes no block: remove it');
    return directives;
  }

  /** Up to the brace that closes the block, or the end of the file. */
  #block(depth: number, opener: Directive | undefined): Directive[] {
    const directives: Directive[] = [];
    for (let first = this.#tokens[this.#at]; first !== undefined; first = this.#tokens[this.#at]) {
      if (first.isSign && first.text === '}') {
        if (opener !== undefined) this.#at++;
        return directives;
      }
      const read = this.#directive(depth);
      if (read === undefined) continue;
      if (read.name === 'include') directives.push(...this.#include(read));
      else directives.push(read);
    }
    if (opener === undefined) return directives;
    throw new ImportError(opener.place, `the block of "${opener.name}" has no end: add a "}"`);
  }

  /** Undefined for a semicolon alone. */
  #directive(depth: number): Directive | undefined {
    const words: string[] = [];
    const place = this.#tokens[this.#at]?.place as SourcePlace;
    for (let token = this.#tokens[this.#at]; token !== undefined; token = this.#tokens[this.#at]) {
      if (token.isSign && token.text === '}') break;
      this.#at++;
      if (!token.isSign) {
        words.push(token.text);
        continue;
      }
      const [name = '', ...args] = words;
      if (name === '' && token.text === ';') return undefined;
      const directive = { name, args, block: [], place };
      if (token.text === ';') return directive;
      if (depth >= MAX_DEPTH) {
        throw new ImportError(token.place, `blocks are nested deeper than ${MAX_DEPTH} levels`);
      }
      return { ...directive, block: this.#block(depth + 1, directive) };
    }
    throw new ImportError(place, `"${words[0] ?? ''}" has no end: add a ";"`);
  }
}

/** The directives of these names among the directives. */
export function named(directives: readonly Directive[], ...names: readonly string[]): Directive[] {
  return directives.filter(({ name }) => names.includes(name));
}

/** As it is written. */
export function directiveText({ name, args }: Directive): string {
  return [name, ...args].join(' ');
}
