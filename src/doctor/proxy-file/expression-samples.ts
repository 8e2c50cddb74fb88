/** Texts that a regular expression may match, with given texts for its groups. Each must be tried, because not all of them match. */

/** Texts of groups, by number or name. */
export type Groups = Readonly<Record<string, string>>;

const MAX_SAMPLES = 32;
const SOME = ['a', '1', '-', '_', 'A', '.', '/', ' '];
const ESCAPES: Readonly<Record<string, string>> = {
  d: '1',
  D: 'a',
  w: 'a',
  W: '-',
  s: ' ',
  S: 'a',
};
/** An assertion, an escape, a class, the start of a group, or a character. */
const ATOM =
  /\\b|[$^]|\\([\s\S])|(\[\^?\]?(?:\\[\s\S]|[^\]\\])*\])|\((?:\?(?::|<(\w+)>|([=!]|<[=!])))?|([^)|])/y;
const QUANTIFIER = /(?:([*?])|(\+)|\{(\d+)(?:,\d*)?\})[?+]?/y;

export function expressionSamples(expression: string, groups: Groups): readonly string[] {
  const written = expression.replace(/^\(\?i\)/, '').replaceAll('(?P<', '(?<');
  return new Sampler(written, groups).alternatives();
}

class Sampler {
  readonly #text: string;
  readonly #groups: Groups;
  #at = 0;
  #opened = 0;

  constructor(text: string, groups: Groups) {
    this.#text = text;
    this.#groups = groups;
  }

  alternatives(): string[] {
    const all: string[] = [];
    do all.push(...this.#sequence());
    while (this.#take('|'));
    return all.slice(0, MAX_SAMPLES);
  }

  #sequence(): string[] {
    let samples = [''];
    while (this.#at < this.#text.length && !/[|)]/.test(this.#text[this.#at] ?? '')) {
      const atom = this.#repeated(this.#atom());
      samples = samples.flatMap((start) => atom.map((each) => start + each)).slice(0, MAX_SAMPLES);
    }
    return samples;
  }

  #atom(): string[] {
    const match = this.#match(ATOM);
    // The rest cannot be read.
    if (match === undefined) this.#at = this.#text.length;
    const [token = '', escaped, set, name, assertion, character] = match ?? [];
    if (token.startsWith('(')) return this.#group(name, assertion !== undefined, token === '(');
    if (escaped !== undefined) return [ESCAPES[escaped] ?? escaped];
    if (set !== undefined) return [oneOf(set)];
    if (token === '^' || token === '$' || token === '\\b') return [''];
    return [character === '.' ? 'a' : (character ?? '')];
  }

  #group(name: string | undefined, isAssertion: boolean, isPlain: boolean): string[] {
    const number = isPlain || name !== undefined ? ++this.#opened : 0;
    const inside = this.alternatives();
    this.#take(')');
    if (isAssertion) return [''];
    const given = this.#groups[number] ?? this.#groups[name ?? ''];
    return given === undefined ? inside : [given];
  }

  #repeated(atom: string[]): string[] {
    const match = this.#match(QUANTIFIER);
    if (match === undefined || match[2] !== undefined) return atom;
    const least = Number(match[3] ?? 0);
    const repeated = atom.map((each) => each.repeat(Math.min(Math.max(least, 1), MAX_SAMPLES)));
    return least === 0 ? ['', ...repeated] : repeated;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text) ?? undefined;
    if (match !== undefined) this.#at = pattern.lastIndex;
    return match;
  }

  #take(sign: string): boolean {
    const isHere = this.#text[this.#at] === sign;
    if (isHere) this.#at++;
    return isHere;
  }
}

function oneOf(set: string): string {
  try {
    const expression = new RegExp(set);
    return SOME.find((each) => expression.test(each)) ?? /[^[\]^\\]/.exec(set)?.[0] ?? '';
  } catch {
    return '';
  }
}
