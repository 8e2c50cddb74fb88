/** Reads the rules of Traefik's routers: Host(`a`) && (PathPrefix(`/x`) || Path(`/y`)). */

/** A rule matches if all conditions of one alternative hold. */
type Alternative = readonly Condition[];

export interface Condition {
  readonly name: string;
  readonly args: readonly string[];
  readonly isNegated: boolean;
}

const MAX_ALTERNATIVES = 64;
const MAX_LENGTH = 10_000;
const MAX_DEPTH = 30;

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

/** Returns undefined if it is no rule, or is longer, deeper or has more alternatives than headgate reads. */
export function readRule(rule: string): Alternative[] | undefined {
  const tokens = rule.length > MAX_LENGTH ? undefined : tokensOf(rule);
  if (tokens === undefined) return undefined;
  let position = 0;
  const takes = (sign: string): boolean => {
    const token = tokens[position];
    const isNext = token?.kind === 'sign' && token.text === sign;
    if (isNext) position++;
    return isNext;
  };
  const either = (depth: number): Alternative[] | undefined => {
    const alternatives = all(depth);
    while (alternatives !== undefined && takes('||')) {
      const more = all(depth);
      if (more === undefined) return undefined;
      alternatives.push(...more);
      if (alternatives.length > MAX_ALTERNATIVES) return undefined;
    }
    return alternatives;
  };
  const all = (depth: number): Alternative[] | undefined => {
    let found = one(depth);
    while (found !== undefined && takes('&&')) {
      const more = one(depth);
      if (more === undefined || found.length * more.length > MAX_ALTERNATIVES) return undefined;
      found = found.flatMap((left) => more.map((right) => [...left, ...right]));
    }
    return found;
  };
  const one = (depth: number): Alternative[] | undefined => {
    if (depth > MAX_DEPTH) return undefined;
    if (takes('!')) return negated(one(depth + 1));
    if (takes('(')) {
      const inside = either(depth + 1);
      return takes(')') ? inside : undefined;
    }
    const name = tokens[position++];
    if (name?.kind !== 'name' || !takes('(')) return undefined;
    const args: string[] = [];
    for (let arg = tokens[position]; arg?.kind === 'text'; arg = tokens[position]) {
      args.push(arg.text);
      position++;
      if (!takes(',')) break;
    }
    return takes(')') ? alternativesOf(name.text, args) : undefined;
  };
  const alternatives = either(0);
  return position === tokens.length ? alternatives : undefined;
}

/** In version 2 of the syntax, a condition with several values holds for any of them. */
function alternativesOf(name: string, args: string[]): Alternative[] {
  const severalAreOne = /^(Headers?|HeadersRegexp|HeaderRegexp|Query|QueryRegexp)$/.test(name);
  if (severalAreOne || args.length < 2) return [[{ name, args, isNegated: false }]];
  return args.map((arg) => [{ name, args: [arg], isNegated: false }]);
}

/** A policy file cannot have such conditions anyway, so they are kept together. */
function negated(alternatives: Alternative[] | undefined): Alternative[] | undefined {
  if (alternatives === undefined) return undefined;
  return [alternatives.flat().map((condition) => ({ ...condition, isNegated: true }))];
}
