/** The nodes of a tree of paths, one for each segment, and the groups of requests that they stand for. */
import { numbers } from './columns.ts';

/** In place of identifiers and of many different values. */
export const PARAMETER = ':';
/** In place of all further segments. */
export const REST = '*';

export interface Node {
  readonly children: Map<string, Node>;
  /** A group for each method. */
  readonly groups: Map<string, number>;
  requests: number;
}

export const newNode = (): Node => ({ children: new Map(), groups: new Map(), requests: 0 });

/** The group of requests that belong to no path of the tree. */
export const NO_PATH = 0;

/** Groups of requests by number. A group may be merged into another one after requests were counted for it. */
export class PathGroups {
  readonly #mergedInto = numbers();
  #uses = new Float64Array(0);

  constructor() {
    this.create();
  }

  get length(): number {
    return this.#mergedInto.length;
  }

  create(): number {
    this.#mergedInto.push(this.length);
    return this.length - 1;
  }

  merge(from: number, into: number): void {
    this.#mergedInto.values[from] = into;
    this.#uses[into] = this.usesOf(into) + this.usesOf(from);
  }

  /** The group that a group is part of now. */
  current(group: number): number {
    const mergedInto = this.#mergedInto.values;
    let last = group;
    while (mergedInto[last] !== last) last = mergedInto[last] as number;
    // The next search is short.
    mergedInto[group] = last;
    return last;
  }

  /** `uses`: the requests of each group. */
  count(uses: ArrayLike<number>): void {
    this.#uses = new Float64Array(this.length);
    for (let group = 0; group < this.length; group++) {
      const into = this.current(group);
      this.#uses[into] = this.usesOf(into) + (uses[group] ?? 0);
    }
  }

  usesOf(group: number): number {
    return this.#uses[group] ?? 0;
  }
}

function mergeNodes(from: Node, into: Node, groups: PathGroups): void {
  into.requests += from.requests;
  for (const [method, group] of from.groups) {
    const known = into.groups.get(method);
    if (known === undefined) into.groups.set(method, group);
    else groups.merge(group, known);
  }
  for (const [name, child] of from.children) {
    const known = into.children.get(name);
    if (known === undefined) into.children.set(name, child);
    else mergeNodes(child, known, groups);
  }
}

/** Makes these children of a node one parameter, and returns it. Without any, nothing changes. */
export function mergeChildren(
  node: Node,
  merging: readonly (readonly [name: string, node: Node])[],
  groups: PathGroups,
): Node {
  const { children } = node;
  const merged = children.get(PARAMETER) ?? newNode();
  if (merging.length === 0) return merged;
  for (const [name, child] of merging) {
    mergeNodes(child, merged, groups);
    children.delete(name);
  }
  children.set(PARAMETER, merged);
  return merged;
}
