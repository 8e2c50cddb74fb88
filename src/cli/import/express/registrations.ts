/** The calls that register handlers: app.use('/api', limiter), router.post('/login', limiter, login). */
import type { SourcePlace } from '../shared/source.ts';
import { textIn } from './literals.ts';
import type { Program, Span } from './program.ts';

export interface Registration {
  /** `app`, `router` */
  readonly receiver: string;
  /** `use`, `all`, or a method in lower case. */
  readonly verb: string;
  /** Undefined if the call has none: it is for every path. */
  readonly paths: readonly RegisteredPath[] | undefined;
  /** The names among the handlers, those in lists too: `limiter`, `limiters.login`, `router`. */
  readonly names: readonly string[];
  readonly span: Span;
  readonly place: SourcePlace;
}

/** A path as written, or undefined if it is not a literal one. */
export interface RegisteredPath {
  readonly text: string | undefined;
  readonly isRegex: boolean;
  readonly written: string;
}

/** Of lists inside each other. */
const MAX_DEPTH = 10;
const VERB = /^(use|all|get|post|put|patch|delete|options|head)$/;

export function registrationsIn(program: Program): Registration[] {
  return program.tokens.flatMap((token, i): Registration[] => {
    if (token.kind !== 'name' || program.sign(i - 1) !== '.' || program.sign(i + 1) !== '(')
      return [];
    if (token.text === 'route') return chained(program, i);
    const receiver = program.name(i - 2);
    if (!VERB.test(token.text) || receiver === undefined) return [];
    const read = registration(program, i, { receiver, route: undefined });
    return read === undefined ? [] : [read];
  });
}

interface Owner {
  readonly receiver: string;
  /** The path of `.route(path)`. */
  readonly route: readonly RegisteredPath[] | undefined;
}

/** `app.route('/login').post(limiter, login).get(form)` */
function chained(program: Program, at: number): Registration[] {
  const receiver = program.name(at - 2);
  const [first] = program.partner(at + 1) === undefined ? [] : program.parts(at + 1);
  if (receiver === undefined || first === undefined) return [];
  const route = pathsIn(program, first) ?? [unknownPath(program, first)];
  const registrations: Registration[] = [];
  let close = program.partner(at + 1);
  while (
    close !== undefined &&
    program.sign(close + 1) === '.' &&
    program.sign(close + 3) === '('
  ) {
    const read = registration(program, close + 2, { receiver, route });
    if (read !== undefined && VERB.test(read.verb)) registrations.push(read);
    close = program.partner(close + 3);
  }
  return registrations;
}

/** `at` is the index of the verb. */
function registration(
  program: Program,
  at: number,
  { receiver, route }: Owner,
): Registration | undefined {
  const token = program.tokens[at];
  const close = program.partner(at + 1);
  if (token === undefined || close === undefined) return undefined;
  const parts = program.parts(at + 1);
  const [first, ...rest] = parts;
  const own = route === undefined && first !== undefined ? pathsIn(program, first) : undefined;
  // app.get('setting') reads a setting, and map.get(key) a value.
  if (own !== undefined && rest.length === 0) return undefined;
  const isUnknown =
    route === undefined && own === undefined && token.text !== 'use' && rest.length > 0;
  const paths =
    route ?? own ?? (isUnknown && first !== undefined ? [unknownPath(program, first)] : undefined);
  const handlers = own === undefined && !isUnknown ? parts : rest;
  return {
    ...{ receiver, verb: token.text, paths, place: token.place },
    names: handlers.flatMap((part) => namesIn(program, part)),
    span: { from: at - 2, to: close + 1 },
  };
}

/** Undefined if it is not a path: a handler. */
function pathsIn(program: Program, part: Span, depth = 0): RegisteredPath[] | undefined {
  const written = program.text(part);
  const text = textIn(program, part);
  if (text !== undefined) return [{ text, isRegex: false, written }];
  const token = program.tokens[part.from];
  if (token?.kind === 'regex') return [{ text: token.text, isRegex: true, written }];
  if (token?.kind === 'template') return [unknownPath(program, part)];
  if (program.sign(part.from) !== '[' || depth > MAX_DEPTH) return undefined;
  const items = program.parts(part.from).map((item) => pathsIn(program, item, depth + 1));
  const known = items.filter((item) => item !== undefined);
  return known.length === items.length && items.length > 0 ? known.flat() : undefined;
}

function unknownPath(program: Program, part: Span): RegisteredPath {
  return { text: undefined, isRegex: false, written: program.text(part) };
}

/** `limiter`, `limiters.login`, and those of `[a, b]`. */
function namesIn(program: Program, { from, to }: Span, depth = 0): string[] {
  if (program.sign(from) === '[' && program.partner(from) === to - 1) {
    if (depth > MAX_DEPTH) return [];
    return program.parts(from).flatMap((part) => namesIn(program, part, depth + 1));
  }
  const names: string[] = [];
  for (let i = from; i < to; i += 2) {
    const name = program.name(i);
    const isLast = i === to - 1;
    if (name === undefined || !(isLast || program.sign(i + 1) === '.')) return [];
    names.push(name);
  }
  return names.length === 0 ? [] : [names.slice(-2).join('.')];
}
