/** The imports of packages in JavaScript that tsc wrote, where each has one of the forms that it writes. */

/** `import { a, b as c } from 'x'`, `import d from 'x'`, `export { a } from 'x'`, over several lines, too. */
const STATIC = /^(?:import|export)\s+([^'";]*?)\s*from\s*'(?!node:|\.|#)([^']+)';/gm;
const DYNAMIC = /\bimport\(\s*['"](?!node:)([^'".][^'"]*)['"]\s*\)/;

export interface PackageImport {
  /** A package, or a module in one. */
  readonly specifier: string;
  /** `default` for the default export. */
  readonly names: readonly string[];
}

/** @throws {Error} if an import does not say which names it needs. */
export function packageImports(code: string): PackageImport[] {
  const [, dynamic] = DYNAMIC.exec(code) ?? [];
  if (dynamic !== undefined) throw new Error(`import names of ${dynamic}, at the top of the file`);
  return [...code.matchAll(STATIC)].map(([, clause = '', specifier = '']) => ({
    specifier,
    names: namesIn(clause, specifier),
  }));
}

function namesIn(clause: string, specifier: string): string[] {
  if (clause.includes('*')) throw new Error(`import names of ${specifier}, not *`);
  const [before = '', inside = ''] = clause.replace('}', '').split('{');
  const names = inside.split(',').map((name) => name.trim().split(/\s+as\s+/)[0] ?? '');
  if (before.replace(',', '').trim() !== '') names.push('default');
  return names.filter((name) => name !== '');
}

/** The code, with another specifier for each package that `replace` has one for. */
export function withImports(
  code: string,
  replace: (specifier: string) => string | undefined,
): string {
  return code.replace(STATIC, (text, _clause, specifier) => {
    const other = replace(specifier);
    return other === undefined ? text : text.replace(`'${specifier}';`, `'${other}';`);
  });
}

/** `@scope/name` or `name`. */
export function packageOf(specifier: string): string {
  const [first = '', second = ''] = specifier.split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}
