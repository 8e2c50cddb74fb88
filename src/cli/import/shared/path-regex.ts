/**
 * Makes paths of a policy file out of simple regular expressions for paths: literal text, choices, whole segments of any
 * text, and any rest. The expression is read, never run.
 */
import { ANY_PATH, literalPath, pathsBelow, segmentText, valid } from './paths.ts';

/** More policies in place of one would be hard to read. */
const MAX_PATHS = 32;
const MAX_LENGTH = 500;

/** What stands for one or more characters of one segment, and nothing else. */
const SEGMENT =
  /^(?:\[\^\/?\]\+|\[\^\/\][+]|\\[dw]\+|\\d\{\d+(?:,\d*)?\}|\[(?:[\w-]|\\[dw.-])+\](?:\+|\{[1-9]\d*(?:,\d*)?\})|\.\+(?=\/))/;
/** A group around one of these, which may have a name. */
const GROUP = /^\((?:\?:|\?P?<\w+>)?(\[\^\/\]\+|\\[dw]\+|\[(?:[\w-]|\\[dw.-])+\]\+|\.\*|\.\+)\)/;
const CHOICE = /^\((?:\?:)?([\w.~\\/-]+(?:\|[\w.~\\/-]*)+)\)(\??)/;
const REST = /^(?:\.\*|\.\+)(?=\$?$)/;

/** These stand for a whole segment and for any rest in a spelled path; no path has them. */
const ANY_SEGMENT = '\x01';
const ANY_REST = '\x02';

/**
 * The paths that the expression matches, as templates. Undefined if a policy file cannot name them. Without `$` at its
 * end, an expression matches every path that begins with what it says.
 */
export function templatesOf(expression: string): string[] | undefined {
  if (expression.length > MAX_LENGTH || !expression.startsWith('^')) return undefined;
  const ends = expression.endsWith('$') && !expression.endsWith('\\$');
  const templates = spelled(expression.slice(1, ends ? -1 : undefined))?.map((path) =>
    templateOf(path, ends),
  );
  if (templates === undefined || templates.includes(undefined)) return undefined;
  return [...new Set(templates as string[])];
}

/** Undefined if a policy file cannot name the path. An expression matches from the start of a path. */
export function templatesOfPath(
  text: string,
  kind: 'prefix' | 'exact' | 'regex',
): readonly string[] | undefined {
  if (kind === 'regex') return templatesOf(text.startsWith('^') ? text : `^${text}`);
  const template = kind === 'exact' ? literalPath(text) : pathsBelow(text);
  return template === undefined ? undefined : [template];
}

function spelled(expression: string): string[] | undefined {
  let paths = [''];
  let rest = expression;
  while (rest !== '') {
    const part = nextPart(rest);
    if (part === undefined) return undefined;
    paths = paths.flatMap((path) => part.texts.map((text) => path + text));
    if (paths.length > MAX_PATHS) return undefined;
    rest = rest.slice(part.length);
  }
  return paths;
}

interface Part {
  readonly texts: readonly string[];
  /** The number of characters that it has in the expression. */
  readonly length: number;
}

function nextPart(rest: string): Part | undefined {
  if (/^(?:(?:\/|\(\/\))\?|\(\/\|\$\)(?:\(\.\*\))?)$/.test(rest)) {
    return { texts: [rest.includes('.*') ? ANY_REST : ''], length: rest.length };
  }
  const [any] = REST.exec(rest) ?? [];
  if (any !== undefined) return { texts: [ANY_REST], length: any.length };
  const [group, inside] = GROUP.exec(rest) ?? [];
  if (group !== undefined) {
    const isRest = inside?.startsWith('.') === true;
    if (isRest && group.length < rest.length) return undefined;
    return { texts: [isRest ? ANY_REST : ANY_SEGMENT], length: group.length };
  }
  const [choice, choices = '', optional] = CHOICE.exec(rest) ?? [];
  if (choice !== undefined) {
    const texts = choices.split('|').map(unescaped);
    if (texts.includes(undefined)) return undefined;
    const all = optional === '?' ? [...texts, ''] : texts;
    return { texts: all as string[], length: choice.length };
  }
  const [segment] = SEGMENT.exec(rest) ?? [];
  if (segment !== undefined) return { texts: [ANY_SEGMENT], length: segment.length };
  const [literal = ''] = /^(?:[\w/~!&',;=@%: -]|\\[^\w\s])+?(?![*+?{])/.exec(rest) ?? [];
  const text = unescaped(literal);
  return literal === '' || text === undefined
    ? undefined
    : { texts: [text], length: literal.length };
}

/** Undefined for a dot or an escape with another meaning. */
function unescaped(text: string): string | undefined {
  if (/(?<!\\)\.|\\[\w]/.test(text.replaceAll('\\\\', ''))) return undefined;
  return text.replaceAll(/\\(.)/g, '$1');
}

/** A parameter and a rest must be whole segments. */
function templateOf(path: string, ends: boolean): string | undefined {
  if (!path.startsWith('/') && path !== ANY_REST) return undefined;
  const isOpen = path.endsWith(ANY_REST) || !ends;
  const known = path.endsWith(ANY_REST) ? path.slice(0, -1) : path;
  const segments = known.split('/').slice(1);
  const last = segments.at(-1) ?? '';
  // `/api` without an end matches `/apis` too. As with locations, `/api` and what is below it is meant.
  const named = last === '' ? segments.slice(0, -1) : segments;
  const written: string[] = [];
  for (const [i, segment] of named.entries()) {
    if (segment === ANY_SEGMENT) written.push(`:p${i + 1}`);
    else if (segment === '' || segment.includes(ANY_SEGMENT) || segment.includes(ANY_REST))
      return undefined;
    else written.push(segmentText(segment));
  }
  if (written.length === 0) return isOpen ? ANY_PATH : literalPath('/');
  return valid(`/${written.join('/')}${isOpen ? '/*' : ''}`);
}
