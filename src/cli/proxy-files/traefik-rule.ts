/** Reads the rules of Traefik's routers: Host(`a`) && (PathPrefix(`/x`) || Path(`/y`)). */

/** One way in which a rule matches: all of its conditions hold. */
type Alternative = readonly Condition[];

export interface Condition {
  /** `Host`, `PathPrefix` */
  readonly name: string;
  readonly args: readonly string[];
  readonly isNegated: boolean;
}

const MAX_ALTERNATIVES = 64;
const MAX_LENGTH = 10_000;
const MAX_DEPTH = 30;

/** Undefined if it is not a rule, or has too many alternatives. */
export function readRule(rule: string): Alternative[] | undefined {
  if (rule.length > MAX_LENGTH) return undefined;
  const tokens = tokensOf(rule);
  if (tokens === undefined) return undefined;
  const reader = new RuleReader(tokens);
  const alternatives = reader.either(0);
  return reader.isAtEnd ? alternatives : undefined;
}

type Token = { readonly kind: 'sign' | 'name' | 'text'; readonly text: string };

const TOKEN = /\s+|(&&|\|\||[!(),])|([A-Za-z]\w*)|`([^`]*)`|"((?:[^"\\]|\\.)*)"|'([^']*)'/y;

function tokensOf(rule: string): Token[] | undefined {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < rule.length) {
    const found = TOKEN.exec(rule);
    if (found === null) return undefined;
    const [, sign, name, raw, quoted, single] = found;
    const text = raw ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? single;
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else if (text !== undefined) tokens.push({ kind: 'text', text });
  }
  return tokens;
}

class RuleReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  either(depth: number): Alternative[] | undefined {
    const alternatives = this.#all(depth);
    while (alternatives !== undefined && this.#takes('||')) {
      const more = this.#all(depth);
      if (more === undefined) return undefined;
      alternatives.push(...more);
      if (alternatives.length > MAX_ALTERNATIVES) return undefined;
    }
    return alternatives;
  }

  #all(depth: number): Alternative[] | undefined {
    let all = this.#one(depth);
    while (all !== undefined && this.#takes('&&')) {
      const more = this.#one(depth);
      if (more === undefined || all.length * more.length > MAX_ALTERNATIVES) return undefined;
      all = all.flatMap((left) => more.map((right) => [...left, ...right]));
    }
    return all;
  }

  #one(depth: number): Alternative[] | undefined {
    if (depth > MAX_DEPTH) return undefined;
    if (this.#takes('!')) return negated(this.#one(depth + 1));
    if (this.#takes('(')) {
      const inside = this.either(depth + 1);
      return this.#takes(')') ? inside : undefined;
    }
    const name = this.#tokens[this.#at++];
    if (name?.kind !== 'name' || !this.#takes('(')) return undefined;
    const args: string[] = [];
    for (let arg = this.#tokens[this.#at]; arg?.kind === 'text'; arg = this.#tokens[this.#at]) {
      args.push(arg.text);
      this.#at++;
      if (!this.#takes(',')) break;
    }
    return this.#takes(')') ? alternativesOf(name.text, args) : undefined;
  }

  #takes(sign: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'sign' || token.text !== sign) return false;
    this.#at++;
    return true;
  }
}

/** In version 2 of the syntax, a condition with several values holds for any of them. */
function alternativesOf(name: string, args: string[]): Alternative[] {
  const severalAreOne = /^(Headers?|HeadersRegexp|HeaderRegexp|Query|QueryRegexp)$/.test(name);
  if (severalAreOne || args.length < 2) return [[{ name, args, isNegated: false }]];
  return args.map((arg) => [{ name, args: [arg], isNegated: false }]);
}

/** Only what a policy file cannot have anyway, so the conditions are kept together. */
function negated(alternatives: Alternative[] | undefined): Alternative[] | undefined {
  if (alternatives === undefined) return undefined;
  return [alternatives.flat().map((condition) => ({ ...condition, isNegated: true }))];
}
