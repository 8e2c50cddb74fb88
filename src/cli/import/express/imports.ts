/** The names under which a program has imported packages. */
import type { Program } from './program.ts';

export interface ImportedNames {
  /** Functions that make limiters. */
  readonly limiters: ReadonlySet<string>;
  /** Functions that make middlewares which slow clients down. */
  readonly delays: ReadonlySet<string>;
}

const PACKAGES: Readonly<Record<string, keyof ImportedNames>> = {
  'express-rate-limit': 'limiters',
  'express-slow-down': 'delays',
};
/** Exports of these packages that are the function. */
const FUNCTIONS = /^(default|rateLimit|slowDown)$/;

export function importedNames(program: Program): ImportedNames {
  const names = { limiters: new Set<string>(), delays: new Set<string>() };
  for (const [i, token] of program.tokens.entries()) {
    const role =
      token.kind === 'text' && Object.hasOwn(PACKAGES, token.text)
        ? PACKAGES[token.text]
        : undefined;
    if (role === undefined) continue;
    for (const name of namesBefore(program, i)) names[role].add(name);
  }
  return names;
}

/** `at` is the index of the name of the package. */
function namesBefore(program: Program, at: number): string[] {
  if (program.name(at - 1) === 'from') return clauseNames(program, at - 2);
  if (program.sign(at - 1) !== '(' || program.name(at - 2) !== 'require') return [];
  // `const x = require(...)`, `const { x } = require(...)`, `import x = require(...)`
  return program.sign(at - 3) === '=' ? clauseNames(program, at - 4) : [];
}

/** The names that end at this index: `rateLimit`, `{ rateLimit, slowDown as s }`, `* as limit`. */
function clauseNames(program: Program, end: number): string[] {
  if (program.sign(end) !== '}') {
    const name = program.name(end);
    return name === undefined ? [] : [name];
  }
  const opener = program.partner(end);
  if (opener === undefined) return [];
  const inside = program.parts(opener).flatMap(({ from, to }) => {
    const exported = program.name(from) ?? '';
    const local = program.name(to - 1);
    return FUNCTIONS.test(exported) && local !== undefined ? [local] : [];
  });
  // `import limit, { ipKeyGenerator } from`
  const first = program.sign(opener - 1) === ',' ? program.name(opener - 2) : undefined;
  return first === undefined ? inside : [first, ...inside];
}
