/** The paths of a log as a tree of segments, of bounded size. What is used least makes way for new paths. */
import { isIdentifier } from './identifier.ts';
import {
  mergeChildren,
  NO_PATH,
  type Node,
  newNode,
  PARAMETER,
  PathGroups,
  REST,
} from './path-node.ts';

const MAX_DEPTH = 8;
const MAX_CHILDREN = 200;
const MAX_ROOT_CHILDREN = 1_000;
const MAX_NODES = 100_000;

export interface PathOptions {
  /** How many segments tell a path from others. */
  readonly depth?: number;
  /** The path was refused: it counts for a known path, but makes none, because scanners try thousands. */
  readonly isRefused?: boolean;
}

export class PathTree {
  readonly root = newNode();
  readonly groups = new PathGroups();
  /** Requests for paths that were dropped, because others are used more. */
  dropped = 0;
  #nodes = 0;
  /** Since the nodes were counted last. Removed nodes are in `#nodes` until then. */
  #added = 0;

  /** The group of a canonical path and a method. */
  groupOf(path: string, method: string, options: PathOptions = {}): number {
    const { depth = MAX_DEPTH, isRefused = false } = options;
    let node = this.root;
    const passed = [node];
    const segments = path === '/' ? [] : path.slice(1).split('/', MAX_DEPTH + 1);
    for (let i = 0; i < segments.length && i <= depth; i++) {
      const name = i === depth ? REST : nameOf(segments[i] as string);
      const next = node.children.get(name) ?? (isRefused ? undefined : this.#grow(node, name));
      if (next === undefined) return NO_PATH;
      passed.push(next);
      node = next;
    }
    const known = node.groups.get(method);
    if (isRefused) return known ?? NO_PATH;
    for (const each of passed) each.requests++;
    if (known !== undefined) return known;
    const group = this.groups.create();
    node.groups.set(method, group);
    return group;
  }

  #grow(node: Node, name: string): Node | undefined {
    const { children } = node;
    if (this.#nodes >= MAX_NODES && !this.#thin()) return undefined;
    if (children.size >= (node === this.root ? MAX_ROOT_CHILDREN : MAX_CHILDREN)) {
      const byUse = named(node).sort(([, a], [, b]) => a.requests - b.requests);
      this.#remove(node, byUse.slice(0, Math.ceil(byUse.length / 2)));
    }
    const added = newNode();
    children.set(name, added);
    this.#nodes++;
    this.#added++;
    return added;
  }

  /** They become a parameter. At the root they are dropped, because each is a separate part of the site. */
  #remove(node: Node, removed: readonly NamedNode[]): void {
    if (node !== this.root) {
      mergeChildren(node, removed, this.groups);
      return;
    }
    for (const [name, child] of removed) {
      this.dropped += child.requests;
      for (const each of withDescendants(child)) {
        for (const group of each.groups.values()) this.groups.merge(group, NO_PATH);
      }
      node.children.delete(name);
    }
  }

  /** Removes the less used half of all nodes. False if nodes are still too many, or were counted a short while ago. */
  #thin(): boolean {
    if (this.#added < MAX_NODES / 10) return false;
    const uses = withDescendants(this.root).map(({ requests }) => requests);
    if (uses.length >= MAX_NODES / 2) {
      const median = uses.sort((a, b) => a - b)[uses.length >> 1] as number;
      const thin = (node: Node) => {
        this.#remove(
          node,
          named(node).filter(([, { requests }]) => requests <= median),
        );
        for (const child of node.children.values()) thin(child);
      };
      thin(this.root);
    }
    this.#nodes = withDescendants(this.root).length;
    this.#added = 0;
    return this.#nodes < MAX_NODES;
  }
}

type NamedNode = readonly [name: string, node: Node];

function named({ children }: Node): NamedNode[] {
  return [...children].filter(([name]) => name !== PARAMETER && name !== REST);
}

function withDescendants(node: Node): Node[] {
  const found = [node];
  for (let i = 0; i < found.length; i++) {
    for (const child of (found[i] as Node).children.values()) found.push(child);
  }
  return found;
}

function nameOf(segment: string): string {
  return isIdentifier(segment) ? PARAMETER : segment;
}
