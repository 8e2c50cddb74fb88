/** Parses the regular expressions of proxies. It makes none of JavaScript, because these come from files. */

export type Node =
  | {
      readonly kind: 'character';
      readonly fits: (character: string) => boolean;
      readonly sample: string;
    }
  | { readonly kind: 'start' | 'end' | 'word' }
  | {
      readonly kind: 'group';
      /** 0 if it captures nothing. */
      readonly number: number;
      readonly name: string | undefined;
      readonly options: Options;
    }
  | { readonly kind: 'ahead'; readonly isNegative: boolean; readonly options: Options }
  | { readonly kind: 'repeat'; readonly node: Node; readonly least: number; readonly most: number };

/** What may stand in one place, in the order in which they are tried. */
export type Options = readonly (readonly Node[])[];

const MAX_LENGTH = 1_000;
const MAX_DEPTH = 20;
const MOST_TIMES = 100;
const WORD = /^\w$/;
const SETS: Readonly<Record<string, RegExp>> = { d: /^\d$/, w: WORD, s: /^\s$/ };
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
/** Tried in this order for a character that an expression describes. */
const SAMPLES = [...'a1-_A./ ~%'];
const GROUP = /\((?:\?(?:(:)|P?<(\w+)>|(=)|(!)))?(?!\?|\*)/y;
const TIMES = /(?:([*+?])|\{(\d{1,3})(,(\d{0,3}))?\})(\??)/y;

/** Undefined if it has forms that are not known here. */
export function parseExpression(expression: string): Options | undefined {
  if (expression.length > MAX_LENGTH) return undefined;
  try {
    return new Parser(expression).all();
  } catch (error) {
    if (error instanceof UnknownForm) return undefined;
    throw error;
  }
}

class UnknownForm extends Error {}

class Parser {
  readonly #text: string;
  #at = 0;
  #groups = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  all(): Options {
    const options = this.#options();
    if (this.#at < this.#text.length) throw new UnknownForm();
    return options;
  }

  #options(): Options {
    if (++this.#depth > MAX_DEPTH) throw new UnknownForm();
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    this.#depth--;
    return options;
  }

  #sequence(): Node[] {
    const nodes: Node[] = [];
    while (this.#at < this.#text.length && !'|)'.includes(this.#text.charAt(this.#at)))
      nodes.push(this.#repeated(this.#node()));
    return nodes;
  }

  #node(): Node {
    const group = this.#match(GROUP);
    if (group !== undefined) return this.#group(group);
    const character = this.#text.charAt(this.#at++);
    if (character === '^') return { kind: 'start' };
    if (character === '$') return { kind: 'end' };
    if (character === '.') return characterOf((each) => each !== '\n');
    if (character === '[') return this.#class();
    if (character === '\\') return this.#escape();
    if ('(*+?'.includes(character)) throw new UnknownForm();
    return characterOf((each) => each === character, character);
  }

  #group([, plain, name, ahead, notAhead]: RegExpExecArray): Node {
    const isCapturing = plain === undefined && ahead === undefined && notAhead === undefined;
    const number = isCapturing ? ++this.#groups : 0;
    const options = this.#options();
    if (!this.#take(')')) throw new UnknownForm();
    if (ahead !== undefined || notAhead !== undefined)
      return { kind: 'ahead', isNegative: notAhead !== undefined, options };
    return { kind: 'group', number, name, options };
  }

  #repeated(node: Node): Node {
    const match = this.#match(TIMES);
    if (match === undefined) return node;
    const [, sign, least = '', comma, most] = match;
    if (this.#text.charAt(this.#at) === '+') throw new UnknownForm();
    const none = sign === '*' || sign === '?';
    if (sign !== undefined)
      return { kind: 'repeat', node, least: none ? 0 : 1, most: sign === '?' ? 1 : Infinity };
    const limit = comma === undefined ? Number(least) : most === '' ? Infinity : Number(most);
    if (Number(least) > MOST_TIMES) throw new UnknownForm();
    return { kind: 'repeat', node, least: Number(least), most: limit };
  }

  #escape(): Node {
    const character = this.#text.charAt(this.#at++);
    if (character === 'b') return { kind: 'word' };
    const set = setOf(character);
    if (set !== undefined) return characterOf(set);
    const literal = literalOf(character);
    return characterOf((each) => each === literal, literal);
  }

  #class(): Node {
    const isNegative = this.#take('^');
    const tests: ((character: string) => boolean)[] = [];
    let first = '';
    do {
      const [from, set] = this.#member();
      if (set !== undefined) tests.push(set);
      else if (this.#text.charAt(this.#at) === '-' && this.#text.charAt(this.#at + 1) !== ']') {
        this.#at++;
        const [to] = this.#member();
        tests.push((each) => from <= each && each <= to);
      } else tests.push((each) => each === from);
      if (first === '') first = from;
    } while (!this.#take(']'));
    return characterOf(
      (each) => tests.some((test) => test(each)) !== isNegative,
      isNegative ? '' : first,
    );
  }

  #member(): [character: string, set?: (character: string) => boolean] {
    const character = this.#text.charAt(this.#at++);
    const next = this.#text.charAt(this.#at);
    if (character === '' || (character === '[' && /[:.=]/.test(next))) throw new UnknownForm();
    if (character !== '\\') return [character];
    this.#at++;
    const set = setOf(next);
    return set === undefined ? [literalOf(next)] : ['', set];
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text) ?? undefined;
    if (match !== undefined) this.#at = pattern.lastIndex;
    return match;
  }

  #take(sign: string): boolean {
    const isHere = this.#text.charAt(this.#at) === sign;
    if (isHere) this.#at++;
    return isHere;
  }
}

function characterOf(fits: (character: string) => boolean, sample = ''): Node {
  return { kind: 'character', fits, sample: sample || (SAMPLES.find(fits) ?? '') };
}

function setOf(letter: string): ((character: string) => boolean) | undefined {
  const set = SETS[letter.toLowerCase()];
  if (set === undefined) return undefined;
  const isPositive = letter === letter.toLowerCase();
  return (character) => set.test(character) === isPositive;
}

function literalOf(character: string): string {
  const control = CONTROLS[character];
  if (control === undefined && /^[a-z0-9]?$/i.test(character)) throw new UnknownForm();
  return control ?? character;
}
