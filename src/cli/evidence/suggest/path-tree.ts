/** The paths of a log as a tree of segments. Segments with many different values become one parameter. */

const PARAMETER = ':';
const REST = '*';
const MAX_DEPTH = 8;
/** More different values are not kept while the log is read. */
const MAX_CHILDREN = 200;
const MAX_ROOT_CHILDREN = 1_000;
const MAX_NODES = 100_000;
const FEW_VALUES = 25;
const RARE_SHARE = 0.02;

interface Node {
  readonly children: Map<string, Node>;
  groups: [method: string, group: number][];
  requests: number;
}

export interface FoundPath {
  readonly path: string;
  readonly groups: readonly (readonly [method: string, group: number])[];
}

const newNode = (): Node => ({ children: new Map(), groups: [], requests: 0 });

export class PathTree {
  readonly #root = newNode();
  #nodes = 0;

  /**
   * The groups of a canonical path, by method. Undefined if there are too many paths already. `depth` is how many of
   * its segments tell it from others.
   */
  add(path: string, depth = MAX_DEPTH): Node['groups'] | undefined {
    let node = this.#root;
    node.requests++;
    const segments = path === '/' ? [] : path.slice(1).split('/');
    for (let i = 0; i < segments.length && i <= depth; i++) {
      const next = this.#child(node, i === depth ? REST : nameOf(segments[i] as string));
      if (next === undefined) return undefined;
      next.requests++;
      node = next;
    }
    return node.groups;
  }

  #child(node: Node, name: string): Node | undefined {
    const { children } = node;
    const known = children.get(name);
    if (known !== undefined) return known;
    if (this.#nodes === MAX_NODES) return undefined;
    const isRoot = node === this.#root;
    if (isRoot && children.size >= MAX_ROOT_CHILDREN) return undefined;
    const isFull = !isRoot && children.size >= MAX_CHILDREN;
    const added = isFull ? (children.get(PARAMETER) ?? newNode()) : newNode();
    if (added.requests === 0) this.#nodes++;
    children.set(isFull ? PARAMETER : name, added);
    return added;
  }

  /** After the last path. Rare values of one segment become a parameter, except at the root. */
  paths(): FoundPath[] {
    for (const child of this.#root.children.values()) generalize(child);
    return pathsBelow(this.#root, []);
  }
}

function nameOf(segment: string): string {
  return isIdentifier(segment) ? PARAMETER : segment;
}

function generalize(node: Node): void {
  const { children } = node;
  if (children.size > FEW_VALUES) {
    const merged = children.get(PARAMETER) ?? newNode();
    for (const [name, child] of children) {
      if (name === PARAMETER || name === REST || child.requests >= RARE_SHARE * node.requests)
        continue;
      children.delete(name);
      merge(child, merged);
    }
    children.set(PARAMETER, merged);
  }
  for (const child of children.values()) generalize(child);
}

function merge(from: Node, into: Node): void {
  into.requests += from.requests;
  into.groups.push(...from.groups);
  for (const [name, child] of from.children) {
    const known = into.children.get(name);
    if (known === undefined) into.children.set(name, child);
    else merge(child, known);
  }
}

function pathsBelow(node: Node, segments: readonly string[]): FoundPath[] {
  const own = node.groups.length === 0 ? [] : [{ path: pathOf(segments), groups: node.groups }];
  const below = [...node.children].flatMap(([name, child]) =>
    pathsBelow(child, [...segments, name]),
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

const LONGEST_WORD = 40;
const IDENTIFIERS: readonly RegExp[] = [
  // A number, a date, or a word with a number: 17, 2026-11-22, order-10432.
  /^\d+$/,
  /\d{4,}/,
  /^\d{4}-\d{2}(?:-\d{2})?$/,
  // A UUID, a digest, a random text of base64url.
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  /^(?=.*\d)[0-9a-f]{12,}$/,
  /^(?=(?:.*\d){3})[\w=-]{16,}$/,
  // An e-mail address.
  /@/,
];
const PLAIN = /^[a-z0-9._~-]+$/;

export function isIdentifier(segment: string): boolean {
  return (
    segment.length > LONGEST_WORD ||
    !PLAIN.test(segment) ||
    IDENTIFIERS.some((form) => form.test(segment))
  );
}
