/** The calls that make limiters: rateLimit({ ... }). */
import type { SourcePlace } from '../shared/source.ts';
import type { ImportedNames } from './imports.ts';
import type { Program, Span } from './program.ts';

export interface LimiterCall {
  /** `apiLimiter`, `limiters.login`; undefined if it has no name. */
  readonly name: string | undefined;
  readonly kind: 'limiter' | 'delay';
  /** The whole call. */
  readonly span: Span;
  /** By name. */
  readonly options: ReadonlyMap<string, OptionValue>;
  /** Whether it takes options from elsewhere: `...common`, or a variable in place of the options. */
  readonly isOpen: boolean;
  readonly place: SourcePlace;
}

export interface OptionValue {
  readonly value: Span;
  readonly place: SourcePlace;
}

export function limiterCalls(program: Program, { limiters, delays }: ImportedNames): LimiterCall[] {
  return program.tokens.flatMap((token, i): LimiterCall[] => {
    if (token.kind !== 'name' || !(limiters.has(token.text) || delays.has(token.text))) return [];
    if (program.sign(i - 1) === '.' || program.sign(i - 1) === '?.') return [];
    const opener = openerAfter(program, i + 1);
    const close = opener === undefined ? undefined : program.partner(opener);
    if (opener === undefined || close === undefined) return [];
    const kind = limiters.has(token.text) ? 'limiter' : 'delay';
    const span = { from: i, to: close + 1 };
    return [
      {
        ...{ kind, span, place: token.place },
        name: nameBefore(program, i),
        ...optionsOf(program, opener),
      },
    ];
  });
}

/** Of `rateLimit(`, `limits.rateLimit(` and `rateLimit.default(`. */
function openerAfter(program: Program, at: number): number | undefined {
  if (program.sign(at) === '(') return at;
  const member = program.name(at + 1) ?? '';
  if (program.sign(at) !== '.' || !/^(rateLimit|slowDown|default)$/.test(member)) return undefined;
  return program.sign(at + 2) === '(' ? at + 2 : undefined;
}

/** What the call is given to. */
function nameBefore(program: Program, at: number): string | undefined {
  const before = program.sign(at - 1);
  if (before === '=') {
    const typed = typedName(program, at - 2);
    return typed ?? dotted(program, at - 2);
  }
  if (before !== ':') return undefined;
  const property = program.name(at - 2) ?? textName(program, at - 2);
  const object = ownerOf(program, at - 2);
  return property === undefined || object === undefined ? undefined : `${object}.${property}`;
}

/** `const limiter: RequestHandler =` */
function typedName(program: Program, end: number): string | undefined {
  for (let at = end; at > end - 12 && at > 1; at--) {
    if (program.sign(at) === ';' || program.sign(at) === '}') return undefined;
    if (program.sign(at - 1) === ':' && /^(const|let|var)$/.test(program.name(at - 3) ?? '')) {
      return program.name(at - 2);
    }
  }
  return undefined;
}

function dotted(program: Program, end: number): string | undefined {
  const name = program.name(end);
  if (name === undefined || program.sign(end - 1) !== '.') return name;
  const object = program.name(end - 2);
  return object === undefined ? name : `${object}.${name}`;
}

function textName({ tokens }: Program, at: number): string | undefined {
  return tokens[at]?.kind === 'text' ? tokens[at].text : undefined;
}

/** The name of the object in whose braces a property stands: `const limiters = { login: ... }`. */
function ownerOf(program: Program, at: number): string | undefined {
  for (let i = at - 1; i > 1; i--) {
    const sign = program.sign(i);
    if (sign === ')' || sign === '}' || sign === ']') i = program.partner(i) ?? i;
    else if (sign === '{') return program.sign(i - 1) === '=' ? program.name(i - 2) : undefined;
    else if (sign === '(' || sign === '[') return undefined;
  }
  return undefined;
}

function optionsOf(program: Program, opener: number): Pick<LimiterCall, 'options' | 'isOpen'> {
  const options = new Map<string, OptionValue>();
  const [argument] = program.parts(opener);
  if (argument === undefined) return { options, isOpen: false };
  if (program.sign(argument.from) !== '{') return { options, isOpen: true };
  let isOpen = false;
  for (const { from, to } of program.parts(argument.from)) {
    const token = program.tokens[from];
    if (token === undefined) continue;
    if (token.text === '...') {
      isOpen = true;
      continue;
    }
    // `async keyGenerator(req) {...}` and `windowMs` alone are values, too.
    const at = token.text === 'async' && program.sign(from + 1) !== ':' ? from + 1 : from;
    const name = program.tokens[at]?.text ?? '';
    const value = program.sign(at + 1) === ':' ? { from: at + 2, to } : { from: at, to };
    options.set(name, { value, place: token.place });
  }
  return { options, isOpen };
}
