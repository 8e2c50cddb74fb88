/**
 * Finds the paths of policies that a path with marks may be (undecodable.ts).
 *
 * The paths are walked as a tree of segments, so that only those are compared whose first segments fit.
 */
import { isMark, STRAY, withShownMarks } from './undecodable.ts';

interface Node {
  readonly id: number;
  readonly names: Map<string, Node>;
  parameter: Node | undefined;
  isEnd: boolean;
  isOpen: boolean;
}

/** Where the segments before `at` lead; `before` is the policy's path up to there. */
interface Step {
  readonly at: number;
  readonly before: string;
  readonly filled: number;
}

interface Part extends Omit<Step, 'at'> {
  readonly segment: string;
  readonly end: number;
}

/** A path that a policy may match, and the number of characters that were put in place of marks. */
interface Fit {
  readonly path: string;
  readonly filled: number;
}

/** A request that needs more comparisons of names is refused, so that it costs no more than other requests. */
const MAX_COMPARISONS = 5_000;
/** In comparisons. */
const STEP = 50;

/** One path for each pattern that one of the paths may match; undefined if it takes too many comparisons. */
export type PathsAround = (paths: readonly string[]) => Fit[] | undefined;

/** The patterns are those of find-my-way, with parameters called `:p1`. */
export function compilePathsAround(patterns: Iterable<string>): PathsAround {
  let count = 0;
  const newNode = (): Node => {
    return { id: count++, names: new Map(), parameter: undefined, isEnd: false, isOpen: false };
  };
  const root = newNode();
  for (const pattern of patterns) {
    let node = root;
    const segments = pattern === '/' ? [] : pattern.slice(1).split('/');
    if (segments.at(-1) === '*') segments.pop();
    for (const segment of segments) {
      const name = segment.replaceAll('::', ':');
      let next = segment.startsWith(':p') ? node.parameter : node.names.get(name);
      if (next === undefined) {
        next = newNode();
        if (segment.startsWith(':p')) node.parameter = next;
        else node.names.set(name, next);
      }
      node = next;
    }
    if (pattern.endsWith('/*')) node.isOpen = true;
    else node.isEnd = true;
  }
  return (paths) => new Walk(root).along(paths);
}

class Walk {
  readonly #root: Node;
  readonly #fits: Fit[] = [];
  readonly #seen = new Set<number>();
  /** The patterns that have a path: nodes that end one, and nodes that go on with `*`. */
  readonly #found = new Set<string>();
  #path = '';
  #comparisons = 0;

  constructor(root: Node) {
    this.#root = root;
  }

  along(paths: readonly string[]): Fit[] | undefined {
    for (const path of paths) {
      this.#path = path;
      this.#seen.clear();
      this.#found.clear();
      this.#visit(this.#root, { at: 1, before: '', filled: 0 });
    }
    return this.#comparisons > MAX_COMPARISONS ? undefined : this.#fits;
  }

  #visit(node: Node, { at, before, filled }: Step): void {
    // A path has at most 2 KiB, see path.ts.
    const place = node.id * 4_096 + at;
    if (this.#seen.has(place) || this.#comparisons > MAX_COMPARISONS) return;
    this.#comparisons += STEP;
    this.#seen.add(place);
    const path = this.#path;
    if (node.isOpen && at < path.length) {
      this.#add(`*${node.id}`, { path: `${before}/${withShownMarks(path.slice(at))}`, filled });
    }
    if (at >= path.length) this.#end(node, before, filled);
    const slash = path.indexOf('/', at);
    const last = slash === -1 ? path.length : slash;
    // The longest comes first: a parameter is most likely to be all of it.
    for (let end = last; end >= at; end--) {
      if (end !== last && path[end] !== STRAY) continue;
      this.#segment(node, { segment: path.slice(at, end), end, before, filled });
    }
  }

  #segment(node: Node, part: Part): void {
    const { segment, end, before, filled } = part;
    const at = end + 1;
    const mark = firstMark(segment);
    if (mark === 0) this.#end(node, before, filled);
    if (segment.length === 0 || (mark === 0 && segment.length === 1)) {
      this.#visit(node, { at, before, filled });
    }
    if (mark === -1) {
      const next = node.names.get(segment);
      if (next !== undefined) this.#visit(next, { at, before: `${before}/${segment}`, filled });
    } else {
      const fitOf = compileFit(segment, mark);
      for (const [name, next] of node.names) {
        if (this.#comparisons++ > MAX_COMPARISONS) return;
        const fit = fitOf(name);
        if (fit === 0) continue;
        const step = { at, before: `${before}/${name}`, filled: filled + name.length - mark };
        if (fit & WHOLE && at > this.#path.length) this.#end(next, step.before, step.filled);
        else if (fit & WHOLE) this.#visit(next, step);
        if (fit & CUT) this.#end(next, step.before, step.filled);
      }
    }
    const { parameter } = node;
    if (parameter === undefined || segment.length === 0) return;
    const known = `${before}/${withShownMarks(segment)}`;
    if (mark !== -1) this.#end(parameter, known, filled);
    this.#visit(parameter, { at, before: known, filled });
  }

  #end(node: Node, path: string, filled: number): void {
    if (node.isEnd) this.#add(`${node.id}`, { path: path || '/', filled });
  }

  /** One of each path: others would match the same policy. */
  #add(pattern: string, fit: Fit): void {
    if (this.#found.has(pattern)) return;
    this.#found.add(pattern);
    this.#fits.push(fit);
  }
}

function firstMark(segment: string): number {
  for (let i = 0; i < segment.length; i++) if (isMark(segment.charCodeAt(i))) return i;
  return -1;
}

const WHOLE = 1;
const CUT = 2;

/** Whether a segment whose first mark is at `mark` may be a name, as a whole or cut at one of its marks. */
function compileFit(segment: string, mark: number): (name: string) => number {
  const start = segment.slice(0, mark);
  const end = segment.slice(mark + 1);
  if (firstMark(end) !== -1)
    return (name) => (name.startsWith(start) ? fitOf(segment, mark, name) : 0);
  return (name) => {
    if (!name.startsWith(start)) return 0;
    const isWhole = name.length >= mark + end.length && name.endsWith(end);
    return (isWhole ? WHOLE : 0) | (name.length === mark ? CUT : 0);
  };
}

/**
 * `name` must start as the segment does. Follows all ways at once to put text in place of the marks: `reached[i]` if the
 * segment up to here may be the first i characters of the name.
 */
function fitOf(segment: string, mark: number, name: string): number {
  const { length } = name;
  const reached = new Uint8Array(length + 1);
  reached[mark] = 1;
  let least = mark;
  let cut = 0;
  for (let k = mark; k < segment.length; k++) {
    const code = segment.charCodeAt(k);
    if (isMark(code)) {
      if (reached[length] === 1) cut = CUT;
      reached.fill(1, least);
      continue;
    }
    for (let i = length; i > least; i--) {
      reached[i] = reached[i - 1] === 1 && name.charCodeAt(i - 1) === code ? 1 : 0;
    }
    reached[least] = 0;
    while (least <= length && reached[least] === 0) least++;
    if (least > length) return cut;
  }
  return reached[length] === 1 ? cut | WHOLE : cut;
}
