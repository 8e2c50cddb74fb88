import { type Groups, matchExpression } from './expression.ts';
import { expressionSamples } from './expression-samples.ts';

export interface PathChange {
  /** A regular expression for the paths that the line changes. */
  readonly expression: string;
  readonly ignoresCase?: boolean;
  /** The new path: `$1` and names stand for groups, `${uri}` for the old path, and other names for unknown text. */
  readonly target: string;
}

export const OLD_PATH = `$\{uri}`;
export const UNKNOWN_TEXT = `$\{unknown}`;
export const SAMPLE = '/a-sample';

export function changeTo(target: string): PathChange {
  return { expression: '^', target };
}

export function prefixReplaced(prefix: string, by: string): PathChange {
  return { expression: `^${escaped(prefix)}(.*)$`, target: `${by}$1` };
}

/** Only the part that matches is replaced. In `replacement`, groups are `$1` or `\1`. */
export function partReplaced(expression: string, replacement: string): PathChange {
  // A group before the expression would change the numbers of its own.
  const isAnchored = expression.startsWith('^');
  const [head, shift] = isAnchored ? ['', 0] : ['^(.*?)', 1];
  const text = withGroups(replacement, shift);
  return {
    expression: `${head}(?:${expression})(?<rest>.*)$`,
    target: `${isAnchored ? '' : '$1'}${text}\${rest}`,
  };
}

/** `/new/${1}` of `\/new/\1`. */
export function withGroups(replacement: string, shift = 0): string {
  return replacement
    .replaceAll('\\/', '/')
    .replaceAll(/\\(\d)|\$(\d)|\$\{(\d)\}/g, (_, ...found: string[]) => {
      const number = found.slice(0, 3).find((each) => each !== undefined);
      return `\${${Number(number) + shift}}`;
    });
}

export function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

const MAX_VARIABLES = 4;
const VARIABLE = /\$(?:\{(\w+)\}|(\d|[a-z_]\w*))/gi;

/** Returns paths that become this one, among samples of the expression and what is `sent`. */
export function sourcesOf(change: PathChange, path: string, sent: readonly string[]): string[] {
  const sources = groupsFor(change, path).flatMap((groups) =>
    [
      ...(groups.uri === undefined ? [] : [groups.uri]),
      ...[...expressionSamples(change.expression, groups), ...sent, SAMPLE].flatMap((each) => [
        ...[each, `${each}${SAMPLE.slice(1)}`, `${each}${path}`],
      ]),
    ]
      .map((each) => (each.startsWith('/') ? each : `/${each}`))
      .filter((each) => each !== path && isSame(changed(change, each, groups), path)),
  );
  return [...new Set(sources)];
}

/** Tells whether the line is meant for this path. A line that changes every path is no sign of that. */
export function changesItself(change: PathChange, path: string): boolean {
  if (changed(change, '/', {}) !== undefined && changed(change, SAMPLE, {}) !== undefined)
    return false;
  const after = changed(change, path, groupsFor(change, path)[0] ?? {});
  return after !== undefined && !isSame(after, path);
}

/** Variables may take much or little of the path. Returns nothing if the line makes no such path. */
function groupsFor(change: PathChange, path: string): Groups[] {
  const { target } = change;
  const parts = target.split(VARIABLE);
  const [head = ''] = parts;
  if (!isSame(path.slice(0, head.length), head)) return [];
  const names = parts.flatMap((each, i) => (i % 3 === 0 || each === undefined ? [] : [each]));
  const isOpen = names.some((name) => !isKnown(name, change));
  if (isOpen && target.replaceAll(VARIABLE, '').length < 2) return [];
  if (names.length > MAX_VARIABLES) return [];
  const written = parts.filter((_, i) => i % 3 === 0).map(escaped);
  return ['(.*)', '(.*?)'].slice(0, names.length > 1 ? 2 : 1).flatMap((any) => {
    const match = matchExpression(`^${written.join(any)}$`, path, true);
    return match ? [Object.fromEntries(names.map((name, i) => [name, match[i + 1] ?? '']))] : [];
  });
}

/** Returns undefined if the line leaves the path. `groups` has the texts that the file does not know. */
function changed(change: PathChange, path: string, groups: Groups): string | undefined {
  const { target, expression, ignoresCase = false } = change;
  const match = matchExpression(expression, path, ignoresCase);
  // An expression that cannot be read may match with any groups.
  if (match === null || (match === undefined && Object.keys(groups).length > 0)) return undefined;
  return target.replaceAll(VARIABLE, (_, braced, plain) => {
    const name: string = braced ?? plain;
    if (name === 'uri') return path;
    return (isKnown(name, change) ? match?.[name] : groups[name]) ?? '';
  });
}

function isKnown(name: string, { expression }: PathChange): boolean {
  return /^\d$|^uri$/.test(name) || expression.includes(`<${name}>`);
}

/** Policies ignore case unless the file says otherwise, and applications read two slashes as one. */
function isSame(a: string | undefined, b: string): boolean {
  return a?.toLowerCase().replaceAll(/\/\/+/g, '/') === b.toLowerCase();
}
