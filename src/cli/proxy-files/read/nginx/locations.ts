import type { Directive } from '../../nginx-syntax/directive.ts';
import { matchesExpression } from '../expression.ts';
import { innerLevels, type Level } from './levels.ts';

/** The text is empty for other blocks and for locations with a name. */
export function ruleOf({ name, args }: Directive) {
  const [, kind = '', text = ''] = /^(=|\^~|~\*|~)? ?(.*)$/s.exec(args.join(' ')) ?? [];
  return name !== 'location' || text.startsWith('@') ? { kind: '', text: '' } : { kind, text };
}

/** Stands for a location whose expression may match. */
export const UNKNOWN: Level = [
  {
    ...{ name: 'location', args: [], written: [], block: [], where: '', isPart: false },
    place: { file: '', line: 1, column: 1 },
  },
];

/** NGINX finds the longest prefix, then takes the first expression that matches. */
export function locationFor(path: string, levels: readonly Level[]): Level | undefined {
  const rules = levels.map((level) => ({ level, ...ruleOf(level[0]) })).filter((each) => each.text);
  const exact = rules.find(({ kind, text }) => kind === '=' && text === path);
  if (exact !== undefined) return exact.level;
  const [longest] = rules
    .filter(({ kind, text }) => (kind === '' || kind === '^~') && path.startsWith(text))
    .sort((a, b) => b.text.length - a.text.length);
  const inside = longest && locationFor(path, innerLevels(longest.level));
  if (inside === UNKNOWN) return inside;
  if (inside !== undefined && /^[=~]/.test(ruleOf(inside[0]).kind)) return inside;
  for (const { level, kind, text } of longest?.kind === '^~' ? [] : rules) {
    const matches = kind.startsWith('~') ? matchesExpression(text, path, kind === '~*') : false;
    if (matches === undefined) return UNKNOWN;
    if (matches) return locationFor(path, innerLevels(level)) ?? level;
  }
  return inside ?? longest?.level;
}

const URL_WITH_URI =
  /^[a-z]+:\/\/(?:unix:[^:]*:|(?!unix:)[^/$]*(?:\$\{?(?!request_uri|uri)\w+\}?)?[^/$]*)([/$].*)$/;

/** Returns `/api/` of `http://127.0.0.1:3000/api/`, and undefined if the request keeps its path. */
export function uriOf(url: string, location: Directive): string | undefined {
  const { kind, text } = ruleOf(location);
  const uri = URL_WITH_URI.exec(url)?.[1];
  return text === '' || (uri === text && !kind.startsWith('~')) ? undefined : uri;
}
