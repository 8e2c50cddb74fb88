/** The steps at which servers read a path differently. Each step returns all readings of a text, the likeliest first. */
import { decode } from './percent-encoding.ts';

export function foldedCases(text: string): string[] {
  const lower = text.toLowerCase();
  return NOT_ASCII.test(text) ? [lower, text.toUpperCase().toLowerCase()] : [lower];
}

/** Drops control characters, as browsers do. NUL, CR and LF stay, because they make a path malformed. */
export function withoutBlankControls(raw: string): string {
  return raw.replaceAll(BLANK_CONTROLS, '');
}

const BLANK_CONTROLS = /[[\p{Cc}&&\p{ASCII}]--[\0\r\n]]/gv;

/**
 * Some servers split a path before they decode it and before they turn its backslashes. To them an encoded slash is part
 * of a segment, or part of a segment's `;params`, which they drop.
 */
export function splitBeforeDecoding(raw: string): string[] {
  const forms = [raw];
  if (ENCODED_SEPARATOR.test(raw)) forms.push(raw.replaceAll(ENCODED_SEPARATORS, '_'));
  if (raw.includes(';') && /[%\\]/.test(raw)) forms.push(raw.replaceAll(RAW_PARAMETERS, ''));
  return forms;
}

const RAW_PARAMETERS = /;[^/]*/g;
const ENCODED_SEPARATOR = /%(?:25)*(?:2f|5c)/i;
const ENCODED_SEPARATORS = /%(?:25)*(?:2f|5c)/gi;

/** Takes an origin-form or absolute-form (RFC 9112, section 3.2). Each path starts with a slash. */
export function originForms(target: string): string[] {
  const slashed = (rest: string) => (/^[/\\]/.test(rest) ? rest : `/${rest}`);
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(target)?.[0];
  if (scheme === undefined) return [slashed(target)];
  const rest = target.slice(scheme.length);
  // Two slashes begin an authority. With another number of slashes, some servers read an authority and others a path.
  const withoutAuthority = slashed(rest.replace(/^[/\\]*[^/\\#]*/, ''));
  const others = [slashed(rest), slashed(target)];
  return /^[/\\]{2}[^/\\]/.test(rest)
    ? [withoutAuthority, ...others]
    : [...others, withoutAuthority];
}

/** The steps for a decoded path. Each returns the text itself as one of the readings. */
export const FORKS: readonly ((text: string) => readonly string[])[] = [
  // Full-width letters, ligatures and combining marks stay, or become the characters that they are compatible with.
  (text) => (NOT_ASCII.test(text) ? [text, foldUnicode(text)] : [text]),
  // Browsers and parsers like theirs drop tabs from URLs.
  (text) => (CONTROL.test(text) ? [text, text.replaceAll(CONTROLS, '')] : [text]),
  // Some servers read a path that starts with a scheme as a URL.
  (text) =>
    /^\/+[a-z][a-z0-9+.-]*:/i.test(text)
      ? [text, ...originForms(text.replace(/^\/+/, ''))]
      : [text],
  // A fragment is dropped, or is part of the path.
  (text) => (text.includes('#') ? [upTo(text, '#'), text] : [text]),
  // `//host/path` is a path, or a URL without a scheme.
  (text) => {
    const found = /^\/{2,}[^/]*(.*)$/s.exec(text);
    return found === null ? [text] : [text, found[1] ?? ''];
  },
  // Parameters belong to a segment, or end the path.
  (text) => (text.includes(';') ? [text, upTo(text, ';')] : [text]),
  // A server that decodes before it parses reads an encoded question mark as the start of a query.
  (text) => (text.includes('?') ? [text, upTo(text, '?')] : [text]),
  // Dots and blanks around a name are part of it, or dropped, as on Windows.
  (text) => (LOOSE_ENDS.test(text) ? [text, ...withoutLooseEnds(text.split('/'))] : [text]),
];

const NOT_ASCII = /[^\p{ASCII}]/u;
const CONTROL = /\p{Cc}/u;
const CONTROLS = /\p{Cc}/gu;
const LOOSE_ENDS = /[.\s](\/|$)|\/\s/;

/** A name of dots and blanks is dropped, or is the dot segment that remains without the blanks. */
function withoutLooseEnds(segments: readonly string[]): string[] {
  const isDots = (segment: string) => segment === '.' || segment === '..';
  const trimmed = segments.map((each) => (isDots(each) ? each : withoutLooseEnd(each)));
  const dotted = segments.map((each, i) => (isDots(each.trim()) ? each.trim() : trimmed[i]));
  return [dotted.join('/'), trimmed.join('/')];
}

/** This uses no pattern, because a pattern for the end of a text is tried at each of its characters. */
export function withoutLooseEnd(segment: string): string {
  let text = segment.trim();
  while (text.endsWith('.')) text = text.slice(0, -1).trimEnd();
  return text;
}

/**
 * Replaces characters by their compatible ones (Unicode, annex 15), and slash-like characters by the slashes that Windows
 * maps them to. At most 30 marks per character are kept, as in stream-safe text: sorting more takes quadratic time.
 */
function foldUnicode(text: string): string {
  const few = text.replace(/(\p{M}{30})\p{M}+/gu, '$1');
  return decode(few.normalize('NFKC').replace(/[\u2044\u2215\u2216\u29f5\u29f8]/g, '/')).text;
}

export function upTo(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

const MAX_SEGMENTS = 64;

/** Where each segment starts, and where its name and the segment end. Shared, because one path is read at a time. */
const starts = new Uint16Array(MAX_SEGMENTS + 1);
const nameEnds = new Uint16Array(MAX_SEGMENTS + 1);
const ends = new Uint16Array(MAX_SEGMENTS + 1);
const kept = new Uint8Array(MAX_SEGMENTS + 1);

interface Rules {
  /** A `..` can remove an empty segment. */
  readonly emptyIsSegment: boolean;
  /** `..;x` is an ordinary name, for servers that do not know parameters. */
  readonly parametersAreNames: boolean;
}

/**
 * The path as each kind of server resolves it, the likeliest first. `path` starts with a slash. The segments are found
 * once for all servers, and only kept ones are copied, because a hostile path has many segments and many readings.
 */
export function resolutions(path: string): string[] {
  const count = findSegments(path);
  const lenient = resolve(path, count, { emptyIsSegment: false, parametersAreNames: false });
  if (!path.includes('..')) return [lenient];
  const others = [resolve(path, count, { emptyIsSegment: true, parametersAreNames: false })];
  if (path.includes(';')) {
    others.push(resolve(path, count, { emptyIsSegment: false, parametersAreNames: true }));
    others.push(resolve(path, count, { emptyIsSegment: true, parametersAreNames: true }));
  }
  return [lenient, ...others];
}

export function hasTooManySegments(path: string): boolean {
  let segments = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    if (++segments > MAX_SEGMENTS) return true;
  }
  return false;
}

/** Returns the number of segments. A name ends where the `;parameters` of its segment start. */
function findSegments(path: string): number {
  let count = 0;
  let parameters = path.indexOf(';');
  for (let start = 1; start <= path.length; count++) {
    const slash = path.indexOf('/', start);
    const end = slash === -1 ? path.length : slash;
    if (parameters !== -1 && parameters < start) parameters = path.indexOf(';', start);
    starts[count] = start;
    ends[count] = end;
    nameEnds[count] = parameters !== -1 && parameters < end ? parameters : end;
    start = end + 1;
  }
  return count;
}

/** Drops empty segments, `.`, `;parameters`, and each `..` with the segment before it. */
function resolve(path: string, count: number, rules: Rules): string {
  let size = 0;
  for (let i = 0; i < count; i++) {
    const start = starts[i] as number;
    const length = ((rules.parametersAreNames ? ends[i] : nameEnds[i]) as number) - start;
    if (length === 2 && path.startsWith('..', start)) size = Math.max(0, size - 1);
    else if (length === 1 && path.startsWith('.', start)) continue;
    else if (length > 0 || rules.emptyIsSegment) kept[size++] = i;
  }
  let resolved = '';
  for (let k = 0; k < size; k++) {
    const i = kept[k] as number;
    const [start, end] = [starts[i] as number, nameEnds[i] as number];
    if (end > start) resolved += `/${path.slice(start, end)}`;
  }
  return resolved || '/';
}
