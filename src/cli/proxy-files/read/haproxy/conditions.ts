import { matchesExpression } from '../expression.ts';
import type { Line, Section } from './sections.ts';

/** Returns undefined if the condition depends on other things than the path. */
export function holds({ words }: Line, section: Section, path: string): boolean | undefined {
  const at = conditionAt(words);
  if (at === -1) return true;
  const alternatives: string[][] = [[]];
  for (const word of words.slice(at + 1)) {
    if (word === 'or' || word === '||') alternatives.push([]);
    else alternatives.at(-1)?.push(word);
  }
  const value = someOf(alternatives.map((each) => holdsAll(each, section, path)));
  return value === undefined || words[at] === 'if' ? value : !value;
}

export function conditionAt(words: readonly string[]): number {
  return words.findIndex((word) => word === 'if' || word === 'unless');
}

/** The terms are `name`, `!name` and `{ test }`. */
function holdsAll(words: readonly string[], section: Section, path: string): boolean | undefined {
  const values: (boolean | undefined)[] = [];
  for (let i = 0; i < words.length; i++) {
    const term = words[i] ?? '';
    const isNegated = term.startsWith('!');
    const name = isNegated ? term.slice(1) : term;
    const end = name === '{' ? words.indexOf('}', i) : i;
    const value = name === '{' ? fits(words.slice(i + 1, end), path) : fitsAny(name, section, path);
    values.push(value === undefined ? undefined : value !== isNegated);
    if (end === -1) return undefined;
    i = end;
  }
  return !values.includes(false) && (values.includes(undefined) ? undefined : true);
}

/** An acl with several lines holds if one of them does. */
function fitsAny(name: string, { lines }: Section, path: string): boolean | undefined {
  const values = lines
    .filter(({ words }) => words[0] === 'acl' && words[1] === name)
    .map(({ words }) => fits(words.slice(2), path));
  return values.length === 0 ? undefined : someOf(values);
}

function someOf(values: readonly (boolean | undefined)[]): boolean | undefined {
  return values.includes(true) || (values.includes(undefined) ? undefined : false);
}

function fits([fetch = '', ...rest]: readonly string[], path: string): boolean | undefined {
  let test = fetch.replace(/^(path|url)(,lower|,url_dec)*/, 'path');
  let ignoresCase = false;
  const values: string[] = [];
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i] ?? '';
    if (word === '-i') ignoresCase = true;
    else if (word === '-m') test = `${test}_${rest[++i]}`;
    else values.push(word);
  }
  if (test === 'path_reg')
    return someOf(values.map((each) => matchesExpression(each, path, ignoresCase)));
  if (values.length === 0 || values.some((each) => !/^[/.]/.test(each))) return undefined;
  const lower = (value: string) => (ignoresCase ? value.toLowerCase() : value);
  const subject = lower(path);
  const some = (isFit: (value: string) => boolean) => values.some((each) => isFit(lower(each)));
  if (test === 'path' || test === 'path_str') return some((each) => subject === each);
  if (test === 'path_beg') return some((each) => subject.startsWith(each));
  if (test === 'path_end') return some((each) => subject.endsWith(each));
  return undefined;
}
