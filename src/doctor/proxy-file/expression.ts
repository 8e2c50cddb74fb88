/** Whether a regular expression of a proxy's file matches a path, in a bounded number of steps. */
import { type Node, type Options, parseExpression } from './expression-tree.ts';

export interface Subject {
  readonly path: string;
  readonly ignoresCase: boolean;
}

/** The texts of its groups, by number and name. */
export type Groups = Readonly<Record<string, string>>;

const MAX_PATH_LENGTH = 200;
const MAX_STEPS = 50_000;

/** Undefined if the expression is of another kind or needs too many steps, and may match. */
export function matchesExpression(expression: string, subject: Subject): boolean | undefined {
  const groups = matchExpression(expression, subject);
  return groups === undefined ? undefined : groups !== null;
}

/** Null without a match. Undefined as above. */
export function matchExpression(
  expression: string,
  { path, ignoresCase }: Subject,
): Groups | null | undefined {
  const { options, ignoresAlways } = treeOf(expression);
  if (options === undefined || path.length > MAX_PATH_LENGTH) return undefined;
  const match = new Match(path, ignoresCase || ignoresAlways);
  try {
    for (let start = 0; start <= path.length; start++)
      if (match.options(options, start, () => true)) return match.groups;
    return null;
  } catch (error) {
    if (error instanceof TooManySteps) return undefined;
    throw error;
  }
}

interface Tree {
  readonly options: Options | undefined;
  /** The expression begins with `(?i)`. */
  readonly ignoresAlways: boolean;
}

/** Files repeat their expressions, and each is tried for many paths. */
const trees = new Map<string, Tree>();

export function treeOf(expression: string): Tree {
  const known = trees.get(expression);
  if (known !== undefined) return known;
  const ignoresAlways = expression.startsWith('(?i)');
  const options = parseExpression(ignoresAlways ? expression.slice(4) : expression);
  const tree = { options, ignoresAlways };
  trees.set(expression, tree);
  return tree;
}

class TooManySteps extends Error {}

/** Called with the place that was reached. Returns whether the rest matches from there. */
type Rest = (at: number) => boolean;

type Repeat = Extract<Node, { kind: 'repeat' }>;

interface Turn {
  readonly at: number;
  /** How often the node has matched. */
  readonly times: number;
}

class Match {
  readonly groups: Record<string, string> = {};
  readonly #path: string;
  readonly #ignoresCase: boolean;
  #steps = 0;

  constructor(path: string, ignoresCase: boolean) {
    this.#path = path;
    this.#ignoresCase = ignoresCase;
  }

  options(options: Options, at: number, rest: Rest): boolean {
    return options.some((nodes) => this.#sequence(nodes, at, rest));
  }

  #sequence([node, ...others]: readonly Node[], at: number, rest: Rest): boolean {
    if (node === undefined) return rest(at);
    return this.#node(node, at, (next) => this.#sequence(others, next, rest));
  }

  #node(node: Node, at: number, rest: Rest): boolean {
    if (++this.#steps > MAX_STEPS) throw new TooManySteps();
    switch (node.kind) {
      case 'start':
        return at === 0 && rest(at);
      case 'end':
        return at === this.#path.length && rest(at);
      case 'word':
        return /^\w/.test(this.#path.slice(at)) !== /\w$/.test(this.#path.slice(0, at)) && rest(at);
      case 'character':
        return at < this.#path.length && this.#fits(node, this.#path.charAt(at)) && rest(at + 1);
      case 'ahead':
        return this.options(node.options, at, () => true) !== node.isNegative && rest(at);
      case 'group':
        return this.options(node.options, at, (end) => {
          const before = { ...this.groups };
          this.#capture(node, this.#path.slice(at, end));
          if (rest(end)) return true;
          Object.assign(this.groups, before);
          return false;
        });
      case 'repeat':
        return this.#repeat(node, { at, times: 0 }, rest);
    }
  }

  #fits({ fits }: Extract<Node, { kind: 'character' }>, character: string): boolean {
    if (!this.#ignoresCase) return fits(character);
    return fits(character.toLowerCase()) || fits(character.toUpperCase());
  }

  #capture({ number, name }: Extract<Node, { kind: 'group' }>, text: string): void {
    if (number > 0) this.groups[number] = text;
    if (name !== undefined) this.groups[name] = text;
  }

  #repeat(node: Repeat, { at, times }: Turn, rest: Rest): boolean {
    const again: Rest = (next) =>
      (next > at || times < node.least) && this.#repeat(node, { at: next, times: times + 1 }, rest);
    if (times < node.most && this.#node(node.node, at, again)) return true;
    return times >= node.least && rest(at);
  }
}
