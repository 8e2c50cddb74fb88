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
  /^(?:\[\^\/?\]\+|\\[dw]\+|\\d\{\d+(?:,\d*)?\}|\[(?:[\w-]|\\[dw.-])+\](?:\+|\{[1-9]\d*(?:,\d*)?\})|\.\+(?=\/))/;
/** What stands for a single character, or for some or none of a segment. */
const CHARACTERS =
  /^(?:\.(?![*+?{])|(?:\.|\\[dw]|\[(?:[\w-]|\\[dw.-])+\])\??(?![*+?{])|\[\^\/\]\*|\\[dw]\*)/;
/** People forget the backslash before the dot of `/robots.txt`. */
const DOT_OF_NAME = /^\.(?=[a-z][a-z0-9]{1,4}(?:[/$|()]|$))/i;
/** A group around one of these, which may have a name. */
const GROUP = /^\((?:\?:|\?P?<\w+>)?(\[\^\/\]\+|\\[dw]\+|\[(?:[\w-]|\\[dw.-])+\]\+|\.\*|\.\+)\)/;
const CHOICE = /^\((?:\?:)?([\w.~\\/-]+(?:\|[\w.~\\/-]*)+)\)(\??)/;
const REST = /^(?:\.\*|\.\+)(?=\$?$)/;

/** A whole file name, without the start of a path: `wp-login\.php$`. */
const FILE_NAME = /^[\w-]+\\?\.\w+\$?$/;

/** These stand for a whole segment, for a part of one, and for any rest in a spelled path; no path has them. */
const ANY_SEGMENT = '\x01';
const ANY_PART = '\x03';
const ANY_REST = '\x02';

export interface PathTemplates {
  readonly templates: readonly string[];
  /** The templates match paths that the expression does not match. */
  readonly isWider: boolean;
  /** The expression matches paths that the templates do not match. */
  readonly isNarrower: boolean;
}

/**
 * The paths that the expression matches, as templates. Undefined if a policy file cannot name them. Without `$` at its
 * end, an expression matches every path that begins with what it says.
 */
export function templatesOf(written: string): PathTemplates | undefined {
  if (written.length > MAX_LENGTH) return undefined;
  const isAnchored = written.startsWith('^');
  const inside = isAnchored ? written.slice(1) : FILE_NAME.test(written) ? `/${written}` : written;
  if (!isAnchored && !inside.startsWith('/')) return undefined;
  const ends = inside.endsWith('$') && !inside.endsWith('\\$');
  const parts = partsOf(ends ? inside.slice(0, -1) : inside);
  const spelled = parts && spell(parts);
  const templates = spelled?.map((path) => templateOf(path, ends));
  if (templates === undefined || templates.includes(undefined)) return undefined;
  return {
    templates: [...new Set(templates as string[])],
    isWider: parts?.some(({ isWider }) => isWider) === true || spelled?.some(hasPart) === true,
    isNarrower: !isAnchored || parts?.some(({ isNarrower }) => isNarrower) === true,
  };
}

/** Undefined if a policy file cannot name the path. An expression matches from the start of a path. */
export function templatesOfPath(
  text: string,
  kind: 'prefix' | 'exact' | 'regex',
): PathTemplates | undefined {
  if (kind === 'regex') return templatesOf(text.startsWith('^') ? text : `^${text}`);
  const template = kind === 'exact' ? literalPath(text) : pathsBelow(text);
  return template === undefined ? undefined : onePath(template);
}

export function onePath(template: string): PathTemplates {
  return { templates: [template], isWider: false, isNarrower: false };
}

interface Part {
  readonly texts: readonly string[];
  /** The number of characters that it has in the expression. */
  readonly length: number;
  readonly isWider?: boolean;
  readonly isNarrower?: boolean;
}

function partsOf(expression: string): Part[] | undefined {
  const parts: Part[] = [];
  let rest = expression;
  while (rest !== '') {
    const part = nextPart(rest);
    if (part === undefined) return undefined;
    parts.push(part);
    rest = rest.slice(part.length);
  }
  return parts;
}

function spell(parts: readonly Part[]): string[] | undefined {
  let paths = [''];
  for (const { texts } of parts) {
    paths = paths.flatMap((path) => texts.map((text) => path + text));
    if (paths.length > MAX_PATHS) return undefined;
  }
  return paths;
}

function nextPart(rest: string): Part | undefined {
  if (/^(?:(?:\/|\(\/\))\?|\(\/\|\$\)(?:\(\.\*\))?)$/.test(rest)) {
    return { texts: [rest.includes('.*') ? ANY_REST : ''], length: rest.length };
  }
  const [any] = REST.exec(rest) ?? [];
  if (any !== undefined) return { texts: [ANY_REST], length: any.length };
  const [group, inside = ''] = GROUP.exec(rest) ?? [];
  if (group !== undefined) {
    if (!inside.startsWith('.')) return anySegment(inside, group.length);
    return group.length < rest.length ? undefined : { texts: [ANY_REST], length: group.length };
  }
  const [choice, choices = '', optional] = CHOICE.exec(rest) ?? [];
  if (choice !== undefined) {
    const texts = choices.split('|').map(unescaped);
    if (texts.includes(undefined)) return undefined;
    const all = optional === '?' ? [...texts, ''] : texts;
    const isNarrower = PLAIN_DOT.test(choices);
    return { texts: all as string[], length: choice.length, isNarrower };
  }
  return segmentPart(rest) ?? literalPart(rest);
}

function segmentPart(rest: string): Part | undefined {
  const [segment] = SEGMENT.exec(rest) ?? [];
  if (segment !== undefined) return anySegment(segment, segment.length);
  if (DOT_OF_NAME.test(rest)) return { texts: ['.'], length: 1, isNarrower: true };
  const [characters] = CHARACTERS.exec(rest) ?? [];
  return characters === undefined ? undefined : { texts: [ANY_PART], length: characters.length };
}

/** `.+` may match several segments, and the others match some segments only. */
function anySegment(written: string, length: number): Part {
  const isWider = written !== '[^/]+' && written !== '.+';
  return { texts: [ANY_SEGMENT], length, isWider, isNarrower: written === '.+' };
}

function literalPart(rest: string): Part | undefined {
  const [literal = ''] = /^(?:[\w/~!&',;=@%: -]|\\[^\w\s])+?(?![*+?{])/.exec(rest) ?? [];
  const text = unescaped(literal);
  return literal === '' || text === undefined
    ? undefined
    : { texts: [text], length: literal.length };
}

const PLAIN_DOT = /(?<!\\)\./;

/** Undefined for an escape with another meaning, and for a dot that is not that of a file name. */
function unescaped(text: string): string | undefined {
  const plain = text.replaceAll('\\\\', '').replaceAll(/\.(?=[a-z][a-z0-9]{1,4}$)/gi, '');
  if (PLAIN_DOT.test(plain) || /\\\w/.test(plain)) return undefined;
  return text.replaceAll(/\\(.)/g, '$1');
}

function isAny(segment: string): boolean {
  return segment.includes(ANY_SEGMENT) || segment.includes(ANY_PART);
}

/** A segment of which only a part may be any text. */
function hasPart(path: string): boolean {
  return path.split('/').some((segment) => isAny(segment) && segment !== ANY_SEGMENT);
}

/** A rest must be whole segments. A segment with any text becomes a parameter, if the path has a literal one. */
function templateOf(path: string, ends: boolean): string | undefined {
  if (!path.startsWith('/') && path !== ANY_REST) return undefined;
  const isOpen = path.endsWith(ANY_REST) || !ends;
  const known = path.endsWith(ANY_REST) ? path.slice(0, -1) : path;
  const segments = known.split('/').slice(1);
  const last = segments.at(-1) ?? '';
  // `/api` without an end matches `/apis` too. As with locations, `/api` and what is below it is meant.
  const named = last === '' ? segments.slice(0, -1) : segments;
  if (hasPart(known) && named.every((segment) => isAny(segment))) return undefined;
  if (named.some((segment) => segment === '' || segment.includes(ANY_REST))) return undefined;
  const written = named.map((segment, i) => (isAny(segment) ? `:p${i + 1}` : segmentText(segment)));
  if (written.length === 0) return isOpen ? ANY_PATH : literalPath('/');
  return valid(`/${written.join('/')}${isOpen ? '/*' : ''}`);
}
