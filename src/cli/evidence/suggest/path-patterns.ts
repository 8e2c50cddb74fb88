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
  // Two letters may mean anything else, unless they lead to the same pages.
  mergeChildren(root, alike([...root.children].filter(([name]) => LOCALE.test(name))), groups);
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

type NamedNode = readonly [name: string, node: Node];

/** Those below which another one has the same page. */
function alike(nodes: readonly NamedNode[]): readonly NamedNode[] {
  const names = nodes.flatMap(([, { children }]) => [...children.keys()]);
  const seen = new Set<string>();
  const common = new Set(names.filter((name) => seen.size === seen.add(name).size));
  common.delete(PARAMETER);
  return nodes.filter(([, { children }]) => [...children.keys()].some((name) => common.has(name)));
}

function generalize(node: Node, groups: PathGroups, isLarge: IsLarge): void {
  const { children } = node;
  const named = () => [...children].filter(([name]) => name !== PARAMETER && name !== REST);
  // Alone they are too small for limits, and together they may be large enough.
  const small = () => named().filter(([, child]) => !hasLarge(child, groups, isLarge));
  if (children.size > FEW_VALUES) {
    const rare = named().filter(([, { requests }]) => requests < RARE_SHARE * node.requests);
    mergeChildren(node, rare, groups);
  }
  mergeChildren(node, alike(small()), groups);
  for (const child of children.values()) generalize(child, groups, isLarge);
  const rest = small();
  if (rest.length === 0 || rest.length + Number(children.has(PARAMETER)) === 1) return;
  generalize(mergeChildren(node, rest, groups), groups, isLarge);
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
