/** Which requests of a frontend of HAProxy the condition of the check leaves out. */
import type { Site } from './unchecked-paths.ts';

const SECTION = /^(frontend|listen|backend|defaults|global)\b/;

interface Line {
  readonly words: readonly string[];
  readonly number: number;
}

/** The frontends that ask headgate. */
export function haproxySites(file: string, text: string): Site[] {
  const lines = text.split('\n').map((line, i): Line => ({ words: wordsOf(line), number: i + 1 }));
  const starts = lines.flatMap(({ words: [first = ''] }, i) => (SECTION.test(first) ? [i] : []));
  return starts
    .map((start, i) => lines.slice(start, starts[i + 1]))
    .flatMap((section) => {
      const checks = section.filter(
        ({ words }) => words[0] === 'http-request' && words[1] === 'lua.headgate',
      );
      return checks.length === 0 ? [] : [siteOf(section, { checks, file })];
    });
}

/** HAProxy reads a number sign outside of quotes as the start of a comment. */
function wordsOf(line: string): string[] {
  return line
    .replace(/(^|\s)#.*$/, '')
    .split(/\s+/)
    .filter((word) => word !== '');
}

function siteOf(
  section: readonly Line[],
  { checks, file }: { checks: readonly Line[]; file: string },
): Site {
  const acls = section.flatMap(({ words: [first, name = '', ...rest] }) =>
    first === 'acl' ? [[name, rest] as const] : [],
  );
  const literals = section.flatMap(({ words }) =>
    words.filter((word) => /^\/[\w./-]*$/.test(word)),
  );
  return {
    hosts: undefined,
    paths: literals,
    choose(path) {
      const asked = checks.map(({ words }) => isAsked(words, { acls, path }));
      const [first] = checks;
      if (first === undefined || asked.includes(undefined)) return undefined;
      const what = 'the condition of the check';
      return { what, place: `${file}:${first.number}`, isUnchecked: !asked.includes(true) };
    },
  };
}

interface Circumstances {
  readonly acls: readonly (readonly [name: string, test: readonly string[]])[];
  readonly path: string;
}

/** Undefined if the condition depends on other things than the path. */
function isAsked(words: readonly string[], circumstances: Circumstances): boolean | undefined {
  const at = words.findIndex((word) => word === 'if' || word === 'unless');
  if (at === -1) return true;
  const alternatives: string[][] = [[]];
  for (const word of words.slice(at + 1)) {
    if (word === 'or' || word === '||') alternatives.push([]);
    else alternatives.at(-1)?.push(word);
  }
  const values = alternatives.map((each) => holdsAll(each, circumstances));
  const holds = values.includes(true) || (values.includes(undefined) ? undefined : false);
  if (holds === undefined) return undefined;
  return words[at] === 'if' ? holds : !holds;
}

/** Whether all terms hold: `name`, `!name` or `{ test }`. */
function holdsAll(words: readonly string[], circumstances: Circumstances): boolean | undefined {
  const values: (boolean | undefined)[] = [];
  for (let i = 0; i < words.length; i++) {
    const term = words[i] ?? '';
    const isNegated = term.startsWith('!');
    const name = isNegated ? term.slice(1) : term;
    const end = name === '{' ? words.indexOf('}', i) : i;
    const value =
      name === '{'
        ? fits(words.slice(i + 1, end), circumstances.path)
        : fitsAny(name, circumstances);
    values.push(value === undefined ? undefined : value !== isNegated);
    if (end === -1) return undefined;
    i = end;
  }
  if (values.includes(false)) return false;
  return values.includes(undefined) ? undefined : true;
}

/** An acl with several lines holds if one of them does. */
function fitsAny(name: string, { acls, path }: Circumstances): boolean | undefined {
  const values = acls.filter(([each]) => each === name).map(([, test]) => fits(test, path));
  if (values.includes(true)) return true;
  return values.length === 0 || values.includes(undefined) ? undefined : false;
}

/** `path_beg /static /assets` */
function fits([fetch = '', ...rest]: readonly string[], path: string): boolean | undefined {
  const [flag, kind] = rest[0] === '-m' ? rest : [undefined, 'str'];
  const values = flag === undefined ? rest : rest.slice(2);
  if (values.some((each) => !each.startsWith('/') && !each.startsWith('.'))) return undefined;
  const test = flag === undefined ? fetch : `${fetch}_${kind}`;
  if (test === 'path' || test === 'path_str') return values.includes(path);
  if (test === 'path_beg') return values.some((each) => path.startsWith(each));
  if (test === 'path_end') return values.some((each) => path.endsWith(each));
  return undefined;
}
