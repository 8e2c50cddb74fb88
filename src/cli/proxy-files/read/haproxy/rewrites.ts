import { expressionSamples } from '../expression-samples.ts';
import {
  changeTo,
  OLD_PATH,
  type PathChange,
  partReplaced,
  SAMPLE,
  UNKNOWN_TEXT,
  withGroups,
} from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { conditionAt, holds } from './conditions.ts';
import { hasCheck, type Passage, passagesOf, serversOf } from './routes.ts';
import { isCheck, type Line, linesWithin, type Section } from './sections.ts';

export function haproxyRewrites(sections: readonly Section[]): Rewrite[] {
  const checked = passagesOf(sections).filter(({ from, to }) => hasCheck(from) || hasCheck(to));
  const places = new Set(checked.flatMap(({ from, to }) => [from, to]));
  return [...places].flatMap((section) => {
    const routes = checked.filter(({ from, to }) => from === section || to === section);
    const reached = new Set(routes.flatMap(({ to }) => serversOf(to.lines)));
    const getsThere = (path: string) =>
      routes.some(
        ({ from, to }) => from === section || backendsFor(path, from, routes).includes(to),
      );
    const isServed = (path: string) =>
      routes
        .flatMap(({ from }) => backendsFor(path, from, routes))
        .some((to) => serversOf(to.lines).some((each) => reached.has(each)));
    return linesAfterCheck(section).flatMap((line) =>
      changesBy(line).map((change) => ({
        what: line.words.slice(0, 3).join(' '),
        place: line.place,
        hosts: undefined,
        change,
        sent: pathsIn(line, section),
        isApplied: (path) => (getsThere(path) ? holds(line, section, path) : false),
        isServed,
      })),
    );
  });
}

/** In a section without a check, all lines come after that of the frontend. */
function linesAfterCheck(section: Section): readonly Line[] {
  const lines = linesWithin(section);
  return lines.slice(lines.findIndex(isCheck) + 1);
}

function backendsFor(path: string, from: Section, routes: readonly Passage[]): Section[] {
  const backends: Section[] = [];
  for (const route of routes.filter((each) => each.from === from)) {
    const isTaken = route.line === undefined || holds(route.line, from, path);
    if (isTaken !== false) backends.push(route.to);
    if (isTaken === true) break;
  }
  return backends;
}

function pathsIn({ words }: Line, { lines }: Section): string[] {
  const at = conditionAt(words);
  const condition = at === -1 ? [] : words.slice(at + 1);
  const named = lines.filter(
    ({ words: [first, name = ''] }) => first === 'acl' && condition.includes(name),
  );
  return [...condition, ...named.flatMap((acl) => acl.words)].flatMap((word) => {
    if (word.startsWith('^')) return expressionSamples(word);
    return /^[/.]/.test(word) ? [word, SAMPLE + word] : [];
  });
}

function changesBy({ words: [first, action = '', a = '', b = ''] }: Line): PathChange[] {
  if (first !== 'http-request') return [];
  if (/^replace-(path|pathq|uri)$/.test(action)) return [{ expression: a, target: withGroups(b) }];
  if (!/^set-(path|pathq|uri)$/.test(action)) return [];
  const regsub = /^%\[(?:path|pathq|url),regsub\(([^,]*),([^,)]*)[^\]]*\)\]$/.exec(a);
  if (regsub !== null) return [partReplaced(unquoted(regsub[1]), unquoted(regsub[2]))];
  const target = a.replaceAll(/%\[(?:path|pathq|url)\]/g, OLD_PATH);
  return [changeTo(target.replaceAll(/%\[[^\]]*\]/g, UNKNOWN_TEXT))];
}

function unquoted(text = ''): string {
  return text.replaceAll(/^["']|["']$/g, '');
}
