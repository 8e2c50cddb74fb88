/**
 * Patterns of other languages in a path: of regular expressions, globs, routers, proxies. Each would match nothing but
 * itself, so each is a mistake, with what to write in its place where that can be told.
 */
import { canonicalPath } from '../../core/path.ts';

/** What is wrong with the path, and what to write; undefined for a path without patterns. */
export function patternMistake(text: string): string | undefined {
  return (
    unseen(text) ??
    misplacedStart(text) ??
    severalPaths(text) ??
    misplacedEnd(text) ??
    patternInside(text)
  );
}

/** Nobody has them in the names of paths; where somebody has, they are percent-encoded. */
const PATTERN = /[{}[\]()<>$^+|\\*?`"]|\.\.\./;
const PARAMETER = /^:[A-Za-z_]\w*$/;

/** What stands before a path in other files: a method, a scheme and a host, or how to compare it. */
const METHOD = /^([A-Z]+)\s+(?=\/)/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i;
const COMPARISON = /^(?:\^~|~\*?|=|!|\^)\s*(?=[\\/^])/;

/** Characters that nobody sees, or takes for others: of editors, web pages and other alphabets. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const OTHER_DASH = /[\p{Pd}\u2212](?<!-)/u;
const MIXED_SCRIPTS =
  /[a-z][^/]*[\p{Script=Cyrillic}\p{Script=Greek}]|[\p{Script=Cyrillic}\p{Script=Greek}][^/]*[a-z]/iu;

function unseen(text: string): string | undefined {
  const [char] = INVISIBLE.exec(text) ?? [];
  if (char !== undefined) {
    const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `the path has an invisible character, U+${code}: remove it`;
  }
  const [dash] = OTHER_DASH.exec(text) ?? [];
  if (dash !== undefined) {
    return `"${text}" has a dash that is no "-": write "-"; if it is meant, write "${encodeURIComponent(dash)}"`;
  }
  const [mixed] = MIXED_SCRIPTS.exec(text) ?? [];
  if (mixed === undefined) return undefined;
  const [letter = ''] = /[\p{Script=Cyrillic}\p{Script=Greek}]/u.exec(mixed) ?? [];
  return `"${text}" mixes alphabets: "${letter}" looks like another letter, or is meant; then write "${encodeURIComponent(letter)}"`;
}

function misplacedStart(text: string): string | undefined {
  if (text.startsWith('/')) return undefined;
  const [method, name] = METHOD.exec(text) ?? [];
  if (method !== undefined) {
    return `"${text}" begins with a method: write "method: ${name}" and "path: ${text.slice(method.length)}"`;
  }
  const [origin, authority = ''] = ORIGIN.exec(text) ?? [];
  if (origin !== undefined) {
    const host = authority.toLowerCase().replace(/^.*@|:\d*$/g, '');
    const [path = '/'] = rewritten(text.slice(origin.length) || '/');
    return `"${text}" is a URL: write "host: ${host}" and "path: ${path}"`;
  }
  const comparison = COMPARISON.exec(text.trim())?.[0].trim() ?? '';
  const rest = text.trim().replace(COMPARISON, '').replace(/^\^/, '');
  const isPath = /^\\?\/|^\*+$|^[\w.~-]+(\/|$)/.test(rest);
  const path = rest.startsWith('/') || rest.startsWith('\\/') ? rest : `/${rest}`;
  // A prefix, or an expression without an end, is for all that begins so.
  const isPrefix = /^(\^~|~|\^)/.test(comparison) && !/\$$|\*$/.test(path);
  const paths = isPath ? rewritten(path) : [];
  const meant = isPrefix ? paths.map((each) => `${each === '/' ? '' : each}/*`) : paths;
  return `"${text}" must start with "/"${writing(meant)}`;
}

/** Alternatives, or a list. */
function severalPaths(text: string): string | undefined {
  const paths = text.split(/[|,;\s]+(?=\/)/);
  return paths.length === 1 ? undefined : `"${text}" has several paths${writing(paths)}`;
}

/** Spaces that quotes keep, a query, a fragment. */
function misplacedEnd(text: string): string | undefined {
  if (/\s/.test(text)) {
    const trimmed = text.trim();
    const remedy = /\s/.test(trimmed) ? ': write "%20" for one that is meant' : writing([trimmed]);
    return `"${text}" has a space${remedy}`;
  }
  const end = text.search(/[?#]/);
  // `/:id?` and `/(a)?` are patterns.
  if (end === -1 || /[)}\]>*+]\?|\/:\w+\?(\/|$)|\(\?/.test(text)) return undefined;
  return `"${text}" must be a path without query or fragment${writing(rewritten(text.slice(0, end)))}`;
}

function patternInside(text: string): string | undefined {
  const odd = oddSegment(text);
  if (odd === undefined) return undefined;
  return `${whatIsOdd(odd, text)}${writing(rewritten(text))}${literally(odd)}`;
}

function oddSegment(path: string): string | undefined {
  const segments = path.slice(1).split('/');
  return segments.find((segment, index) => {
    if (segment === '*') return index !== segments.length - 1;
    return !PARAMETER.test(segment) && (PATTERN.test(segment) || segment.includes(':'));
  });
}

function whatIsOdd(segment: string, text: string): string {
  if (!PATTERN.test(segment)) {
    return `"${segment}" must be a parameter such as ":id", alone in its segment`;
  }
  return /^[\w.~-]*\*[\w.~-]*$/.test(segment)
    ? `"${text}" may have "*" only as its last segment, as in "/files/*"`
    : `"${segment}" is a pattern, and paths have none`;
}

/** What means the characters themselves, where they can be meant. */
function literally(segment: string): string {
  if (/^:|[*?\\]|\.\.\./.test(segment)) return '';
  const escaping = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  const escaped = segment.replaceAll(/[{}[\]()<>$^+|`":]/g, escaping);
  return `; if "${segment}" is meant literally, write "${escaped}"`;
}

/** Nothing, unless each of the paths would be right. */
function writing(paths: readonly string[]): string {
  if (paths.length === 0 || !paths.every(isSound)) return '';
  if (paths.length === 1) return `: write "${paths[0]}"`;
  const all = paths.map((path) => `"${path}"`);
  return `: write a policy each for ${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}

function isSound(path: string): boolean {
  const isPlain = !/[\s?#%]/.test(path) && oddSegment(path) === undefined;
  return isPlain && canonicalPath(path, true).path === path;
}

/** More than so many policies in place of one are no remedy. */
const MOST_PATHS = 4;

/** The paths that were probably meant; none where nobody can tell. */
function rewritten(text: string): string[] {
  const path = text
    .replace(/[?#].*$/, (rest) => (/^\?\$?$/.test(rest) || /[)}\]>|]/.test(rest) ? rest : ''))
    .replaceAll('[^/]', '[^]')
    .replaceAll('\\/', '/')
    .replaceAll('\\.', '.')
    .replace(/^\^/, '')
    .replace(/\$$/, '')
    .replace(/(?<=.)\/\??$/, '');
  const segments = path.split('/').filter((segment, i) => i > 0 && segment !== '');
  let paths = [''];
  for (const [index, segment] of segments.entries()) {
    const written = meantBy(segment, index === segments.length - 1);
    paths = paths.flatMap((begun) => written.map((each) => begun + each));
    if (paths.length > MOST_PATHS) return [];
  }
  return [...new Set(paths.map((each) => each || '/'))];
}

/** How other languages name the parameter of a segment. */
const NAMED: readonly RegExp[] = [
  /^:([A-Za-z_]\w*)[^\w:-]/, // :id(\d+), :id?
  /^\$?\{+\*{0,2}([A-Za-z_]\w*)\W/, // {id}, {id:[0-9]+}, {*rest}, ${id}
  /^\(\?P?<([A-Za-z_]\w*)>/, // (?<id>\d+)
  /^<(?:(?:int|str|string|path|uuid|slug|float|any):)?([A-Za-z_]\w*)\W/, // <id>, <int:id>
  /^\[+(?:\.\.\.)?([A-Za-z_]\w*)\]/, // [id], [...slug]
  /^\*([A-Za-z_]\w*)$/, // *rest
  /^\$([A-Za-z_]\w*)$/, // $id
];
/** Takes the rest of a path, or may: **, .*, {rest+}, {*rest}, [...rest], :rest*. */
const REST = /\*|\.\+|\.\.\.|\w\+\}$|^\[\^\??\]\+?$|^<path:|^:\w+\+$/;
/** `log*` */
const PARTIAL = /^[\w~-][\w.~-]*\*+$/;
/** Takes several segments: **, .*, [...slug] */
const SEVERAL = /\*\*|^\.[*+]|\.\.\./;
/** (a|b), {a,b} with what stands around them, and a|b */
const CHOICE = /^([\w.~-]*)(?:\((?:\?:)?|\{)([\w.~-]+(?:[|,][\w.~-]+)+)[)}]([\w.~-]*)$/;
const BARE_CHOICE = /^[\w.~-]+(?:\|[\w.~-]+)+$/;
const OPTIONAL = /^(?::\w+|\{\w+\}|\(.*\)|\[\[?\w+\]\]?)\?$/;

/** The segments, each with its slash, that may stand for one. */
function meantBy(segment: string, isLast: boolean): string[] {
  const isPlain = !PATTERN.test(segment) && !segment.includes(':');
  if (isPlain || PARAMETER.test(segment)) return [`/${segment}`];
  if (OPTIONAL.test(segment)) return ['', ...meantBy(segment.slice(0, -1), isLast)];
  const [, before = '', choices = '', after = ''] = CHOICE.exec(segment) ?? [];
  if (choices !== '' && !/^\d,\d+$/.test(choices)) {
    return choices.split(/[|,]/).map((choice) => `/${before}${choice}${after}`);
  }
  if (BARE_CHOICE.test(segment)) return segment.split('|').map((choice) => `/${choice}`);
  // A part of a name, or any number of segments before another: no path of ours says that.
  if (PARTIAL.test(segment) || (!isLast && SEVERAL.test(segment))) return [];
  if (isLast && REST.test(segment)) return ['/*'];
  const name = NAMED.map((form) => form.exec(segment)?.[1]).find((found) => found !== undefined);
  return [`/:${name ?? 'name'}`];
}
