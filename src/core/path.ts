/**
 * The canonical path of a request target.
 *
 * Proxies and upstreams disagree on what `//api/%2e/LOGIN;x=1/` names. A policy must hold for every reading, so the
 * canonical form is the most lenient one, and where two lenient readings differ, the others are listed. Reading too
 * much into a path costs a token, reading too little is a bypass.
 */
import { decode } from './percent-encoding.ts';

export interface CanonicalPath {
  readonly path: string;
  /** What else a server may take the target for; the raw spelling is always one of them. None for a plain path. */
  readonly otherReadings: readonly string[];
  /** An invalid escape, overlong UTF-8 or too many layers of escapes: no two servers agree on it. */
  readonly suspicious: boolean;
  /** Carries NUL, CR or LF: nothing honest does. */
  readonly malformed: boolean;
}

const NONE: readonly string[] = [];
/** No honest target has a fraction of this; a hostile one must not cost more than its length. */
const MAX_READINGS = 16;
/** Characters, some of which stand for eighteen. */
const MAX_FOLDED = 4_096;
const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;
const DOT = 0x2e;
const COLON = 0x3a;

/** 1 for a character that can stand anywhere in a canonical path, 2 for an upper-case letter, 0 for the rest. */
const PLAIN = new Uint8Array(128);
for (const char of "abcdefghijklmnopqrstuvwxyz0123456789-_~!$&'()*+,=:@.")
  PLAIN[char.charCodeAt(0)] = 1;
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') PLAIN[char.charCodeAt(0)] = 2;

export function canonicalPath(target: string, caseSensitive: boolean): CanonicalPath {
  const end = plainPathEnd(target, caseSensitive);
  if (end !== -1) {
    const path = end === target.length ? target : target.slice(0, end);
    return { path, otherReadings: NONE, suspicious: false, malformed: false };
  }
  return canonicaliseOddTarget(target, caseSensitive);
}

/** Where the path of a target ends that needs no work at all, or -1. Nearly every request takes this way. */
function plainPathEnd(target: string, caseSensitive: boolean): number {
  if (target.charCodeAt(0) !== SLASH) return -1;
  let previous = SLASH;
  let segments = 1;
  for (let i = 1; i < target.length; i++) {
    const code = target.charCodeAt(i);
    if (code === QUESTION_MARK) return endsPlainly(previous, i) ? i : -1;
    if (code === SLASH) {
      // A dot may end a file name, but not a segment: some servers drop it there.
      if (previous === SLASH || previous === DOT) return -1;
      segments++;
    } else {
      const kind = code < 128 ? PLAIN[code] : 0;
      if (kind === 0 || (kind === 2 && !caseSensitive)) return -1;
      if (code === DOT && previous === SLASH) return -1;
      // What begins as a URL does may be one.
      if (code === COLON && segments === 1) return -1;
    }
    previous = code;
  }
  return endsPlainly(previous, target.length) ? target.length : -1;
}

function endsPlainly(last: number, length: number): boolean {
  return last === SLASH ? length === 1 : last !== DOT;
}

function canonicaliseOddTarget(target: string, caseSensitive: boolean): CanonicalPath {
  const raw = upTo(target, '?');
  const decoded = originForms(raw.replaceAll(BLANK_CONTROLS, ''))
    .flatMap(splitBeforeDecoding)
    .map(decode);
  let readings = unique(decoded.map(({ text }) => text));
  for (const fork of FORKS) {
    readings = unique(readings.flatMap(fork)).slice(0, MAX_READINGS + 1);
  }
  const spelled = [...readings.slice(0, MAX_READINGS).flatMap(resolutions), raw];
  const [path = '/', ...others] = caseSensitive ? spelled : spelled.flatMap(foldedCases);
  return {
    path,
    otherReadings: unique(others).filter((each) => each !== path),
    suspicious:
      readings.length > MAX_READINGS ||
      decoded.some(({ text, suspicious }) => suspicious || isTooLongToFold(text)),
    malformed: decoded.some(({ text }) => /[\0\r\n]/.test(text)),
  };
}

/** Lower case, and for characters that have none or several, lower case by way of upper case. */
function foldedCases(text: string): string[] {
  const lower = text.toLowerCase();
  return NOT_ASCII.test(text) ? [lower, text.toUpperCase().toLowerCase()] : [lower];
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

/**
 * Some servers split a path before they decode it or turn its backslashes: then an encoded slash is a character of a
 * segment, which has a parameter's place to itself, or of a segment's `;params`, which are gone by then.
 */
function splitBeforeDecoding(raw: string): string[] {
  const forms = [raw];
  if (ENCODED_SEPARATOR.test(raw)) forms.push(raw.replaceAll(ENCODED_SEPARATORS, '_'));
  if (raw.includes(';') && /[%\\]/.test(raw)) forms.push(raw.replaceAll(RAW_PARAMETERS, ''));
  return forms;
}

const RAW_PARAMETERS = /;[^/]*/g;
const ENCODED_SEPARATOR = /%(?:25)*(?:2f|5c)/i;
const ENCODED_SEPARATORS = /%(?:25)*(?:2f|5c)/gi;

/**
 * The paths of a target in origin-form and absolute-form (RFC 9112, section 3.2), the likeliest first. With a slash in
 * front in any case.
 */
function originForms(target: string): string[] {
  const slashed = (rest: string) => (/^[/\\]/.test(rest) ? rest : `/${rest}`);
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(target)?.[0];
  if (scheme === undefined) return [slashed(target)];
  const rest = target.slice(scheme.length);
  // The one form there is has two slashes; to some any number of them begins an authority, to others a path.
  const withoutAuthority = slashed(rest.replace(/^[/\\]*[^/\\#]*/, ''));
  const others = [slashed(rest), slashed(target)];
  return /^[/\\]{2}[^/\\]/.test(rest)
    ? [withoutAuthority, ...others]
    : [...others, withoutAuthority];
}

/**
 * Where servers go different ways with a decoded path: each gives its readings, the likeliest first, and the text
 * itself among them.
 */
const FORKS: readonly ((text: string) => readonly string[])[] = [
  // Full-width letters, ligatures and combining marks are characters of their own, or ways to write others.
  (text) =>
    NOT_ASCII.test(text) && text.length <= MAX_FOLDED ? [text, foldUnicode(text)] : [text],
  // Browsers drop tabs from URLs, and so does what parses URLs as they do.
  (text) => (CONTROL.test(text) ? [text, text.replaceAll(CONTROLS, '')] : [text]),
  // A path that begins as a URL does is one, to some.
  (text) =>
    /^\/+[a-z][a-z0-9+.-]*:/i.test(text)
      ? [text, ...originForms(text.replace(/^\/+/, ''))]
      : [text],
  // A fragment is cut off, or is part of the path.
  (text) => (text.includes('#') ? [upTo(text, '#'), text] : [text]),
  // `//host/path` is a path, or a URL without a scheme.
  (text) => {
    const found = /^\/{2,}[^/]*(.*)$/s.exec(text);
    return found === null ? [text] : [text, found[1] ?? ''];
  },
  // Parameters belong to a segment, or end the path.
  (text) => (text.includes(';') ? [text, upTo(text, ';')] : [text]),
  // What was an encoded question mark begins a query for a server that decodes before it parses.
  (text) => (text.includes('?') ? [text, upTo(text, '?')] : [text]),
  // Dots and blanks around a name are part of it, or dropped as Windows does.
  (text) => (LOOSE_ENDS.test(text) ? [text, ...withoutLooseEnds(text.split('/'))] : [text]),
];

function isTooLongToFold(text: string): boolean {
  return text.length > MAX_FOLDED && NOT_ASCII.test(text);
}

const NOT_ASCII = /[^\p{ASCII}]/u;
/** As they are, browsers drop them, and no proxy passes them on; NUL, CR and LF are another matter. */
const BLANK_CONTROLS = /[[\p{Cc}&&\p{ASCII}]--[\0\r\n]]/gv;
const CONTROL = /\p{Cc}/u;
const CONTROLS = /\p{Cc}/gu;
const LOOSE_ENDS = /[.\s](\/|$)|\/\s/;

/** A name of dots and blanks is nothing, or what its dots say. */
function withoutLooseEnds(segments: readonly string[]): string[] {
  const isDots = (segment: string) => segment === '.' || segment === '..';
  const trimmed = segments.map((each) => (isDots(each) ? each : withoutLooseEnd(each)));
  const dotted = segments.map((each, i) => (isDots(each.trim()) ? each.trim() : trimmed[i]));
  return [dotted.join('/'), trimmed.join('/')];
}

/** By hand: a pattern for the end of a text is tried at every place of it. */
function withoutLooseEnd(segment: string): string {
  let text = segment.trim();
  while (text.endsWith('.')) text = text.slice(0, -1).trimEnd();
  return text;
}

/**
 * By compatibility (Unicode, annex 15), and slashes that Windows fits to ours. Of marks on one character as many count
 * as stream-safe text has: putting more of them in order takes time in proportion to their square.
 */
function foldUnicode(text: string): string {
  const few = text.replace(/(\p{M}{30})\p{M}+/gu, '$1');
  return decode(few.normalize('NFKC').replace(/[\u2044\u2215\u2216\u29f5\u29f8]/g, '/')).text;
}

function upTo(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

/**
 * A `..` takes back the segment before it. To some that may be the empty one between two slashes, and to those who know
 * nothing of parameters `.;x` and `..;x` are names like any other.
 */
function resolutions(path: string): string[] {
  const lenient = resolveSegments(path, LENIENT);
  if (!path.includes('..')) return [lenient];
  const others = [resolveSegments(path, { ...LENIENT, emptyIsSegment: true })];
  if (path.includes(';')) {
    others.push(resolveSegments(path, { emptyIsSegment: false, parametersAreNames: true }));
    others.push(resolveSegments(path, { emptyIsSegment: true, parametersAreNames: true }));
  }
  return [lenient, ...others];
}

interface Resolution {
  readonly emptyIsSegment: boolean;
  readonly parametersAreNames: boolean;
}

const LENIENT: Resolution = { emptyIsSegment: false, parametersAreNames: false };

/** Drops empty segments, `.`, `;params` and the segment before each `..`. */
function resolveSegments(path: string, { emptyIsSegment, parametersAreNames }: Resolution): string {
  const kept: string[] = [];
  // The path begins after its first slash.
  for (const segment of path.slice(1).split('/')) {
    const name = upTo(segment, ';');
    const dots = parametersAreNames ? segment : name;
    if (dots === '..') kept.pop();
    else if (dots !== '.' && (dots !== '' || emptyIsSegment)) kept.push(name);
  }
  return `/${kept.filter((name) => name !== '').join('/')}`;
}
