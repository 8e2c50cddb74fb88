/** Paths that a regular expression may match. Each must be tried, because not all of them match. */
import { type Groups, matchesExpression } from './expression.ts';

const MAX_SAMPLES = 32;
const MAX_DEPTH = 20;
const CHARACTERS = 'a1-_A./ ~%';
const TOKEN = /\((?:\?(?:[:=!]|<[=!]|P?<(\w+)>))?|\[\^?(?:\\.|[^\]\\])+\]|\\.|[\s\S]/y;
const TIMES = /(?:([*?])|\+|\{(\d{1,3})(?:,\d*)?\})[?+]?/y;

/** `groups` are the wanted texts of some groups, by number or name. */
export function expressionSamples(expression: string, groups: Groups = {}): readonly string[] {
  const text = expression.replace(/^\(\?i\)/, '');
  let at = 0;
  let number = 0;
  const next = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(text) ?? undefined;
    at += match?.[0].length ?? 0;
    return match;
  };
  const repeated = (samples: readonly string[]): readonly string[] => {
    const [written, isOptional, least = '1'] = next(TIMES) ?? [];
    if (written === undefined) return samples;
    if (isOptional !== undefined || least === '0') return ['', ...samples];
    return samples.map((each) => each.repeat(Number(least)));
  };
  const group = (token: string, name: string | undefined, depth: number): string[] => {
    const isCapturing = token === '(' || name !== undefined;
    const own = isCapturing ? ++number : 0;
    const samples = options(depth + 1);
    if (/[=!]$/.test(token)) return [''];
    const given = groups[own] ?? groups[name ?? ''];
    return given === undefined ? samples : [given];
  };
  const options = (depth: number): string[] => {
    const all: string[] = [];
    let samples = [''];
    while (at < text.length && depth < MAX_DEPTH) {
      const [token = '', name] = next(TOKEN) ?? [];
      if (token === ')') break;
      if (token === '|') {
        all.push(...samples);
        samples = [''];
        continue;
      }
      const inner = token.startsWith('(') ? group(token, name, depth) : [characterOf(token)];
      const ends = repeated(inner);
      samples = samples.flatMap((start) => ends.map((end) => start + end)).slice(0, MAX_SAMPLES);
    }
    return [...all, ...samples].slice(0, MAX_SAMPLES);
  };
  return options(0);
}

/** A character that the class or escape stands for; empty for `^`, `$` and `\b`. */
function characterOf(token: string): string {
  if (token === '^' || token === '$') return '';
  if (token.length === 1 && token !== '.') return token;
  const own = token.startsWith('[') ? token.slice(1) : token.slice(1).replace(/\w/, '');
  return [...own, ...CHARACTERS].find((each) => matchesExpression(`^${token}$`, each)) ?? '';
}
