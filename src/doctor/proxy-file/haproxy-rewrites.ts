/** Lines of HAProxy that change the path after the check, and the policies that do not apply then. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import { conditionAt, holds } from './haproxy-conditions.ts';
import {
  haproxySections,
  isCheck,
  type Line,
  linesWithin,
  type Section,
} from './haproxy-sections.ts';
import { applicationsOf, asks, type Route, routesOf } from './haproxy-ways.ts';
import { changeTo, type PathChange, replaced } from './path-change.ts';
import { avoidedPolicies, type Rewrite } from './rewrites.ts';

export function haproxyRewrites(file: string, text: string, policies: ValidFile): Rewrite[] {
  const sections = haproxySections(text);
  const routes = routesOf(sections);
  const applicationOf = applicationsOf(sections);
  const checked = routes.filter(({ from, to }) => asks(from) || asks(to));
  const places = new Set(checked.flatMap(({ from, to }) => [from, to]));
  return [...places].flatMap((section) =>
    linesAfterCheck(section).flatMap((line) => {
      const change = changeOf(line);
      if (change === undefined) return [];
      const ways = checked.filter(({ from, to }) => from === section || to === section);
      const reached = new Set(ways.map(({ to }) => applicationOf(to)));
      const getsThere = (path: string) =>
        ways.some(
          ({ from, to }) => from === section || backendsFor(path, from, routes).includes(to),
        );
      const avoided = avoidedPolicies(policies, {
        change,
        isApplied: (path) => (getsThere(path) ? holds(line, section, path) : false),
        isServed: (path) =>
          ways.some(({ from }) =>
            backendsFor(path, from, routes).some((to) => reached.has(applicationOf(to))),
          ),
        sent: literalsOf(line, section),
      });
      if (avoided.length === 0) return [];
      const what = line.words.slice(0, 3).join(' ');
      return [{ what, place: `${file}:${line.number}`, policies: avoided }];
    }),
  );
}

/** In a section without a check, all lines come after that of the frontend. */
function linesAfterCheck(section: Section): readonly Line[] {
  const lines = linesWithin(section);
  return lines.slice(lines.findIndex(isCheck) + 1);
}

/** Where requests with this path may go. */
function backendsFor(path: string, from: Section, routes: readonly Route[]): Section[] {
  const backends: Section[] = [];
  const lines = linesWithin(from);
  for (const route of routes.filter((each) => each.from === from)) {
    const line = lines.find(({ number }) => number === route.line);
    const isTaken = line === undefined || holds(line, from, path);
    if (isTaken !== false) backends.push(route.to);
    if (isTaken === true) break;
  }
  return backends;
}

/** Paths that the condition of the line names. */
function literalsOf({ words }: Line, { lines }: Section): string[] {
  const at = conditionAt(words);
  const condition = at === -1 ? [] : words.slice(at + 1);
  const named = lines.filter(
    ({ words: [first, name = ''] }) => first === 'acl' && condition.includes(name),
  );
  return [...condition, ...named.flatMap((acl) => acl.words)].filter((word) =>
    word.startsWith('/'),
  );
}

function changeOf({ words: [first, action = '', a = '', b = ''] }: Line): PathChange | undefined {
  if (first !== 'http-request') return undefined;
  if (/^replace-(path|pathq|uri)$/.test(action)) return replaced(a, b);
  if (!/^set-(path|pathq|uri)$/.test(action)) return undefined;
  const regsub = /^%\[(?:path|pathq|url),regsub\(([^,]*),([^,)]*)[^\]]*\)\]$/.exec(a);
  if (regsub !== null) return replaced(unquoted(regsub[1]), unquoted(regsub[2]), true);
  const [, head = '', rest = ''] = /^([^%]*)(.*)$/.exec(a) ?? [];
  if (rest === '') return changeTo(head, 'nothing');
  if (/^%\[(path|pathq|url)\]$/.test(rest)) return changeTo(head, 'the path');
  // Without a known beginning, the new path may be any.
  return head.length > 1 ? changeTo(head, 'unknown') : undefined;
}

function unquoted(text = ''): string {
  return text.replaceAll(/^["']|["']$/g, '');
}
