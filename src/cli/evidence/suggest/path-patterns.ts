/** Turns a tree of paths into patterns: rare values, languages and small sets of values become parameters. */
import { mergeChildren, type Node, PARAMETER, type PathGroups, REST } from './path-node.ts';
import type { PathTree } from './path-tree.ts';

const FEW_VALUES = 25;
const RARE_SHARE = 0.02;
/** The beginning of paths in a language or for a country: de, en-us, zh_hans, es-419. */
const LOCALE = /^[a-z]{2}(?:[-_](?:[a-z]{2,4}|\d{3}))?$/;

export interface PathPattern {
  readonly path: string;
  readonly method: string;
  readonly group: number;
}

/** Says whether a method of a path has enough requests for limits. */
type IsLarge = (method: string, requests: number) => boolean;

/** Changes the tree. Its groups must have their uses. */
export function patternsOf({ root, groups }: PathTree, isLarge: IsLarge): PathPattern[] {
  keepUsed(root, groups);
  const locales = localesIn(root);
  if (locales.length > 1) mergeChildren(root, locales, groups);
  for (const child of root.children.values()) generalize(child, groups, isLarge);
  return patternsBelow(root, []);
}

/** Of a node, `requests` are those that count from now on. Without any, it goes. */
function keepUsed(node: Node, groups: PathGroups): void {
  node.requests = 0;
  for (const group of node.groups.values()) node.requests += groups.usesOf(group);
  for (const [name, child] of node.children) {
    keepUsed(child, groups);
    if (child.requests === 0) node.children.delete(name);
    node.requests += child.requests;
  }
}

/** Only those that lead to the same pages, because two letters may mean anything else. */
function localesIn({ children }: Node) {
  const named = [...children].filter(([name]) => LOCALE.test(name));
  return named.filter(([, { children: own }]) =>
    named.some(
      ([, other]) =>
        other.children !== own && [...own.keys()].some((name) => other.children.has(name)),
    ),
  );
}

function generalize(node: Node, groups: PathGroups, isLarge: IsLarge): void {
  const { children } = node;
  const named = () => [...children].filter(([name]) => name !== PARAMETER && name !== REST);
  if (children.size > FEW_VALUES) {
    const rare = named().filter(([, { requests }]) => requests < RARE_SHARE * node.requests);
    if (rare.length > 0) mergeChildren(node, rare, groups);
  }
  for (const child of children.values()) generalize(child, groups, isLarge);
  // Alone they are too small for limits, and together they may be large enough.
  const small = named().filter(([, child]) => !hasLarge(child, groups, isLarge));
  if (small.length === 0 || small.length + Number(children.has(PARAMETER)) === 1) return;
  generalize(mergeChildren(node, small, groups), groups, isLarge);
}

function hasLarge({ groups: own, children }: Node, groups: PathGroups, isLarge: IsLarge): boolean {
  return (
    [...own].some(([method, group]) => isLarge(method, groups.usesOf(group))) ||
    [...children.values()].some((child) => hasLarge(child, groups, isLarge))
  );
}

function patternsBelow(node: Node, segments: readonly string[]): PathPattern[] {
  const path = pathOf(segments);
  const own = [...node.groups].map(([method, group]) => ({ path, method, group }));
  const below = [...node.children].flatMap(([name, child]) =>
    patternsBelow(child, [...segments, name]),
  );
  return [...own, ...below];
}

/** Parameters of one path need different names: `/users/:id/files/:id2`. */
function pathOf(segments: readonly string[]): string {
  let parameters = 0;
  const written = segments.map((segment) => {
    if (segment !== PARAMETER) return segment;
    parameters++;
    return parameters === 1 ? ':id' : `:id${parameters}`;
  });
  return `/${written.join('/')}`;
}
