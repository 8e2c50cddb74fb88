/** Finds patterns of other languages in a path. headgate would compare them literally, so each is a mistake. */
import { canonicalPath } from '../../core/path/path.ts';
import { listed } from './schema-sentences.ts';

/** Says what is wrong with the path and what to write; undefined for a path without patterns. */
export function patternMistake(text: string): string | undefined {
  return (
    confusingCharacter(text) ??
    byEnding(text) ??
    wrongStart(text) ??
    severalPaths(text) ??
    wrongEnd(text) ??
    patternInside(text)
  );
}

/** Characters that paths do not have, except percent-encoded. */
const PATTERN = /[{}[\]()<>$^+|\\*?`"]|\.\.\./;
const PARAMETER = /^:[A-Za-z_]\w*$/;

/** What other configuration files write before a path: a method, a scheme and a host, or how to compare the path. */
const METHOD = /^([A-Z]+)\s+(?=\/)/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i;
const COMPARISON = /^(?:\^~|~\*?|=|!|\^)\s*(?=[\\/^])/;

/** Characters that are invisible or look like others. They come from editors, web pages and other alphabets. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const OTHER_QUOTE = /[\u2018-\u201f\u00ab\u00bb]/;
const OTHER_DASH = /[\p{Pd}\u2212](?<!-)/u;
const MIXED_SCRIPTS =
  /[a-z][^/]*[\p{Script=Cyrillic}\p{Script=Greek}]|[\p{Script=Cyrillic}\p{Script=Greek}][^/]*[a-z]/iu;

function confusingCharacter(text: string): string | undefined {
  const [char] = INVISIBLE.exec(text) ?? [];
  if (char !== undefined) {
    const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `the path has an invisible character, U+${code}: remove it`;
  }
  if (OTHER_QUOTE.test(text)) return `${text} has typographic quotes: write "..." or none`;
  const [dash] = OTHER_DASH.exec(text) ?? [];
  if (dash !== undefined) {
    return `"${text}" has a dash other than "-": write "-"; if you mean this dash, write "${encodeURIComponent(dash)}"`;
  }
  const [mixed] = MIXED_SCRIPTS.exec(text) ?? [];
  if (mixed === undefined) return undefined;
  const [letter = ''] = /[\p{Script=Cyrillic}\p{Script=Greek}]/u.exec(mixed) ?? [];
  return `"${text}" mixes alphabets: "${letter}" may look like another letter; if you mean this letter, write "${encodeURIComponent(letter)}"`;
}

/** `/*.php`, `*.php`, `\.php$`: everything of a kind, which is far less than everything. */
const BY_ENDING =
  /(?:^\/?(?:\^\/?)?\.?\*+|^|\/\.?\*+)\\?\.(?:[a-z0-9]+|[({[][a-z0-9|,]+[)}\]])\$?$/i;

function byEnding(text: string): string | undefined {
  const [ending] = BY_ENDING.exec(text.replace(/^~\*?\s*/, '')) ?? [];
  if (ending === undefined || !/[*\\$]/.test(text)) return undefined;
  return `"${text}" selects paths by how they end, which a policy cannot: write one policy for each path, such as "/login.php", or for the folder, such as "/files/*"`;
}

function wrongStart(text: string): string | undefined {
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
  // A prefix, or an expression without an end, matches every path that begins with it.
  const isPrefix = /^(\^~|~|\^)/.test(comparison) && !/\$$|\*$/.test(path);
  const paths = isPath ? rewritten(path) : [];
  const meant = isPrefix ? paths.map((each) => `${each === '/' ? '' : each}/*`) : paths;
  return `"${text}" must start with "/"${writing(meant)}`;
}

function severalPaths(text: string): string | undefined {
  const paths = text.split(/[|,;\s]+(?=\/)/);
  return paths.length === 1 ? undefined : `"${text}" has several paths${writing(paths)}`;
}

function wrongEnd(text: string): string | undefined {
  if (/\s/.test(text)) {
    if (/\s[}\]]+$/.test(text)) {
      const path = text.replace(/\s+[}\]]+$/, '');
      const meant = patternMistake(path) === undefined ? [path] : rewritten(path);
      return `"${text}" ends with a bracket that nothing opens${writing(meant)}`;
    }
    const trimmed = text.trim();
    const remedy = /\s/.test(trimmed) ? ': write "%20" if you mean a space' : writing([trimmed]);
    return `"${text}" has a space${remedy}`;
  }
  const end = text.search(/[?#]/);
  // `/:id?` and `/(a)?` are patterns.
  if (end === -1 || /[)}\]>*+]\?|\/:\w+\?(\/|$)|\(\?/.test(text)) return undefined;
  return `"${text}" must not have a query or fragment${writing(rewritten(text.slice(0, end)))}`;
}

function patternInside(text: string): string | undefined {
  const segment = patternSegment(text);
  if (segment === undefined) return undefined;
  return `${problemOf(segment, text)}${writing(rewritten(text))}${literally(segment)}`;
}

function patternSegment(path: string): string | undefined {
  const segments = path.slice(1).split('/');
  return segments.find((segment, index) => {
    if (segment === '*') return index !== segments.length - 1;
    return !PARAMETER.test(segment) && (PATTERN.test(segment) || segment.includes(':'));
  });
}

function problemOf(segment: string, text: string): string {
  if (!PATTERN.test(segment)) {
    return `"${segment}" must be a parameter alone in its segment, such as ":id"`;
  }
  return /^[\w.~-]*\*[\w.~-]*$/.test(segment)
    ? `"${text}" may have "*" only as its last segment, as in "/files/*"`
    : `"${segment}" is a pattern, and paths have no patterns`;
}

function literally(segment: string): string {
  if (/^:|[*?\\]|\.\.\./.test(segment)) return '';
  const escaping = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  const escaped = segment.replaceAll(/[{}[\]()<>$^+|`":]/g, escaping);
  return `; if you mean "${segment}" literally, write "${escaped}"`;
}

/** `: write ...`; empty unless each of the paths is valid. */
function writing(paths: readonly string[]): string {
  if (paths.length === 0 || !paths.every(isValid)) return '';
  if (paths.length === 1) return `: write "${paths[0]}"`;
  const all = paths.map((path) => `"${path}"`);
  return `: write one policy for each of ${listed(all)}, or a list of them to count them together`;
}

function isValid(path: string): boolean {
  const isPlain = !/[\s?#%]|[|,;]\//.test(path) && patternSegment(path) === undefined;
  return isPlain && canonicalPath(path, true).path === path;
}

/** More policies in place of one are not a useful suggestion. */
const MAX_PATHS = 4;

/** The paths that the author probably meant; empty if unknown. */
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
    if (paths.length > MAX_PATHS) return [];
  }
  return [...new Set(paths.map((each) => each || '/'))];
}

const NAMED: readonly RegExp[] = [
  /^:([A-Za-z_]\w*)[^\w:-]/, // :id(\d+), :id?
  /^\$?\{+\*{0,2}([A-Za-z_]\w*)\W/, // {id}, {id:[0-9]+}, {*rest}, ${id}
  /^\(\?P?<([A-Za-z_]\w*)>/, // (?<id>\d+)
  /^<(?:(?:int|str|string|path|uuid|slug|float|any):)?([A-Za-z_]\w*)\W/, // <id>, <int:id>
  /^\[+(?:\.\.\.)?([A-Za-z_]\w*)\]/, // [id], [...slug]
  /^\*([A-Za-z_]\w*)$/, // *rest
  /^\$([A-Za-z_]\w*)$/, // $id
];
/** Matches the rest of a path: **, .*, {rest+}, {*rest}, [...rest], :rest*. */
const REST = /\*|\.\+|\.\.\.|\w\+\}$|^\[\^\??\]\+?$|^<path:|^:\w+\+$/;
/** `log*` */
const PARTIAL = /^[\w~-][\w.~-]*\*+$/;
/** Matches several segments: **, .*, [...slug] */
const SEVERAL = /\*\*|^\.[*+]|\.\.\./;
/** (a|b) or {a,b}, with the text around them; and a|b */
const CHOICE = /^([\w.~-]*)(?:\((?:\?:)?|\{)([\w.~-]+(?:[|,][\w.~-]+)+)[)}]([\w.~-]*)$/;
const BARE_CHOICE = /^[\w.~-]+(?:\|[\w.~-]+)+$/;
const OPTIONAL = /^(?::\w+|\{\w+\}|\(.*\)|\[\[?\w+\]\]?)\?$/;

function meantBy(segment: string, isLast: boolean): string[] {
  const isPlain = !PATTERN.test(segment) && !segment.includes(':');
  if (isPlain || PARAMETER.test(segment)) return [`/${segment}`];
  if (OPTIONAL.test(segment)) return ['', ...meantBy(segment.slice(0, -1), isLast)];
  const [, before = '', choices = '', after = ''] = CHOICE.exec(segment) ?? [];
  if (choices !== '' && !/^\d,\d+$/.test(choices)) {
    return choices.split(/[|,]/).map((choice) => `/${before}${choice}${after}`);
  }
  if (BARE_CHOICE.test(segment)) return segment.split('|').map((choice) => `/${choice}`);
  // A part of a name, or any number of segments before another, cannot be written as a path of a policy.
  if (PARTIAL.test(segment) || (!isLast && SEVERAL.test(segment))) return [];
  if (isLast && REST.test(segment)) return ['/*'];
  const name = NAMED.map((form) => form.exec(segment)?.[1]).find((found) => found !== undefined);
  return [`/:${name ?? 'name'}`];
}
