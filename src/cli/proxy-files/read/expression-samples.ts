/** Paths that a regular expression may match. Each must be tried, because not all of them match. */
import { type Groups, matchesExpression } from './expression.ts';

const MAX_SAMPLES = 32;
const MAX_DEPTH = 20;
const CHARACTERS = 'a1-_A./ ~%';
const TOKEN = /\((?:\?(?:[:=!]|<[=!]|P?<(\w+)>))?|\[\^?(?:\\.|[^\]\\])+\]|\\.|[\s\S]/y;
const TIMES = /(?:([*?])|\+|\{(\d{1,3})(?:,\d*)?\})[?+]?/y;

/** `groups` are the wanted texts of some groups, by number or name. */
export function expressionSamples(expression: string, groups: Groups): readonly string[] {
  return new Sampler(expression.replace(/^\(\?i\)/, ''), groups).options(0);
}

class Sampler {
  readonly #text: string;
  readonly #groups: Groups;
  #at = 0;
  #number = 0;

  constructor(text: string, groups: Groups) {
    this.#text = text;
    this.#groups = groups;
  }

  options(depth: number): string[] {
    const all: string[] = [];
    let samples = [''];
    while (this.#at < this.#text.length && depth < MAX_DEPTH) {
      const [token = '', name] = this.#match(TOKEN) ?? [];
      if (token === ')') break;
      if (token === '|') {
        all.push(...samples);
        samples = [''];
        continue;
      }
      const ends = this.#repeated(
        token.startsWith('(') ? this.#group(token, name, depth) : [characterOf(token)],
      );
      samples = samples.flatMap((start) => ends.map((end) => start + end)).slice(0, MAX_SAMPLES);
    }
    return [...all, ...samples].slice(0, MAX_SAMPLES);
  }

  #group(token: string, name: string | undefined, depth: number): string[] {
    const isCapturing = token === '(' || name !== undefined;
    const number = isCapturing ? ++this.#number : 0;
    const samples = this.options(depth + 1);
    if (/[=!]$/.test(token)) return [''];
    const given = this.#groups[number] ?? this.#groups[name ?? ''];
    return given === undefined ? samples : [given];
  }

  #repeated(samples: readonly string[]): readonly string[] {
    const [written, isOptional, least = '1'] = this.#match(TIMES) ?? [];
    if (written === undefined) return samples;
    if (isOptional !== undefined || least === '0') return ['', ...samples];
    return samples.map((each) => each.repeat(Number(least)));
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text) ?? undefined;
    this.#at += match?.[0].length ?? 0;
    return match;
  }
}

/** A character that the class or escape stands for; empty for `^`, `$` and `\b`. */
function characterOf(token: string): string {
  if (token === '^' || token === '$') return '';
  if (token.length === 1 && token !== '.') return token;
  const own = token.startsWith('[') ? token.slice(1) : token.slice(1).replace(/\w/, '');
  return (
    [...own, ...CHARACTERS].find((path) =>
      matchesExpression(`^${token}$`, { path, ignoresCase: false }),
    ) ?? ''
  );
}
