/** The values of literal expressions: numbers with arithmetic, and texts. Nothing is run. */
import type { Program, Span } from './program.ts';

/** By name: numbers that the program gives to constants. */
export type Constants = ReadonlyMap<string, number>;

const MAX_DEPTH = 40;

/** Undefined if it is not arithmetic of numbers and known constants. */
export function numberIn(program: Program, span: Span, constants: Constants): number | undefined {
  const reader = new Arithmetic(program, span, constants);
  const value = reader.sum(0);
  return reader.isAtEnd && value !== undefined && Number.isFinite(value) ? value : undefined;
}

/** A text in quotes, or a template without expressions. */
export function textIn({ tokens }: Program, { from, to }: Span): string | undefined {
  const token = tokens[from];
  if (token === undefined || to !== from + 1) return undefined;
  if (token.kind === 'text') return token.text;
  return token.kind === 'template' && !token.text.includes('${') ? token.text : undefined;
}

/** Names that are declared once, with `const`, as arithmetic. */
export function constantsOf(program: Program): Constants {
  const constants = new Map<string, number>();
  for (const [i, { kind, text }] of program.tokens.entries()) {
    const name = program.name(i + 1);
    if (kind !== 'name' || text !== 'const' || name === undefined || program.sign(i + 2) !== '=')
      continue;
    let to = i + 3;
    while (to < program.tokens.length && isArithmetic(program, to)) to++;
    const value = numberIn(program, { from: i + 3, to }, constants);
    if (value !== undefined && !continues(program, to)) constants.set(name, value);
  }
  return constants;
}

/** On the line of the token before, or after an operator. */
function isArithmetic({ tokens }: Program, index: number): boolean {
  const [token, before] = [tokens[index], tokens[index - 1]];
  if (token === undefined) return false;
  if (token.kind === 'sign') return /^([+\-*/()]|\*\*)$/.test(token.text);
  if (token.kind !== 'number' && token.kind !== 'name') return false;
  return before?.kind === 'sign';
}

function continues(program: Program, index: number): boolean {
  return (
    /^(\.|\?\.|\|\||&&|\?\?|\?|%)$/.test(program.sign(index) ?? '') ||
    program.tokens[index]?.kind === 'template'
  );
}

class Arithmetic {
  readonly #program: Program;
  readonly #constants: Constants;
  readonly #to: number;
  #at: number;

  constructor(program: Program, { from, to }: Span, constants: Constants) {
    this.#program = program;
    this.#constants = constants;
    this.#at = from;
    this.#to = to;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#to;
  }

  sum(depth: number): number | undefined {
    let value = this.#product(depth);
    for (let sign = this.#takes('+', '-'); sign !== undefined; sign = this.#takes('+', '-')) {
      const right = this.#product(depth);
      if (value === undefined || right === undefined) return undefined;
      value = sign === '+' ? value + right : value - right;
    }
    return value;
  }

  #product(depth: number): number | undefined {
    let value = this.#single(depth);
    for (
      let sign = this.#takes('*', '/', '**');
      sign !== undefined;
      sign = this.#takes('*', '/', '**')
    ) {
      const right = this.#single(depth);
      if (value === undefined || right === undefined) return undefined;
      value = sign === '*' ? value * right : sign === '/' ? value / right : value ** right;
    }
    return value;
  }

  #single(depth: number): number | undefined {
    if (depth > MAX_DEPTH || this.isAtEnd) return undefined;
    if (this.#takes('(') !== undefined) {
      const value = this.sum(depth + 1);
      return this.#takes(')') === undefined ? undefined : value;
    }
    const token = this.#program.tokens[this.#at];
    this.#at++;
    if (token?.kind === 'name') return this.#constants.get(token.text);
    if (token?.kind !== 'number') return undefined;
    const digits = token.text.replaceAll('_', '');
    return /^(\d+\.?\d*|\.\d+)(e\d{1,2})?$/i.test(digits) ? Number(digits) : undefined;
  }

  #takes(...signs: readonly string[]): string | undefined {
    const sign = this.isAtEnd ? undefined : this.#program.sign(this.#at);
    if (sign === undefined || !signs.includes(sign)) return undefined;
    this.#at++;
    return sign;
  }
}
