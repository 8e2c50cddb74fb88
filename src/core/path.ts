/**
 * The canonical path of a request target.
 *
 * Proxies and upstreams disagree on what `//api/%2e/LOGIN;x=1/` names. A policy must hold for every reading, so the
 * canonical form is the most lenient one, and where two lenient readings differ, the others are listed. Reading too
 * much into a path costs a token, reading too little is a bypass.
 *
 * The work is bounded whatever the target holds: an odd target is read only up to a length, and only so many readings
 * of it are followed. A target beyond either bound is suspicious, and so held to the strictest policy as well.
 */
import { decode } from './percent-encoding.ts';

export interface CanonicalPath {
  readonly path: string;
  /** Other paths that a server may take the target for, the raw spelling among them. None for a plain path. */
  readonly otherReadings: readonly string[];
  /** Servers disagree about it, or it is too long or too ambiguous to be read. */
  readonly suspicious: boolean;
  /** Carries NUL, CR or LF: nothing honest does. */
  readonly malformed: boolean;
}

const NONE: readonly string[] = [];
/** Characters and segments. Longer targets that are not plain are not read: no honest one comes near. */
const MAX_ODD_LENGTH = 2_048;
const MAX_ODD_SEGMENTS = 64;
const MAX_READINGS = 48;
/** Of all readings together. Every step looks at each character a fixed number of times. */
const MAX_READING_CHARACTERS = 6_144;
const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;
const DOT = 0x2e;
const COLON = 0x3a;

/** 1 for a character that can stand anywhere in a canonical path, but for the case of letters. */
const PLAIN = new Uint8Array(128);
for (const char of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~!$&'()*+,=:@.") {
  PLAIN[char.charCodeAt(0)] = 1;
}

export function canonicalPath(target: string, caseSensitive: boolean): CanonicalPath {
  const end = plainPathEnd(target);
  if (end === -1) return readOddTarget(upTo(target, '?'), caseSensitive);
  const path = end === target.length ? target : target.slice(0, end);
  return {
    path: caseSensitive ? path : path.toLowerCase(),
    otherReadings: NONE,
    suspicious: false,
    malformed: false,
  };
}

/** Where the path of a target ends that has one reading only, or -1. Nearly every request takes this way. */
function plainPathEnd(target: string): number {
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
      if (code >= 128 || PLAIN[code] === 0) return -1;
      if (code === DOT && previous === SLASH) return -1;
      // A path that begins as a URL does may be one.
      if (code === COLON && segments === 1) return -1;
    }
    previous = code;
  }
  return endsPlainly(previous, target.length) ? target.length : -1;
}

function endsPlainly(last: number, length: number): boolean {
  return last === SLASH ? length === 1 : last !== DOT;
}

function readOddTarget(raw: string, caseSensitive: boolean): CanonicalPath {
  if (raw.length > MAX_ODD_LENGTH) return unread(raw, caseSensitive);
  const readings = new Readings(raw.replaceAll(BLANK_CONTROLS, ''));
  readings.fork(originForms);
  readings.fork(splitBeforeDecoding);
  let suspicious = false;
  readings.fork((text) => {
    const decoded = decode(text);
    suspicious ||= decoded.suspicious;
    return [decoded.text];
  });
  if (readings.texts.some(hasTooManySegments)) return unread(raw, caseSensitive);
  const malformed = readings.texts.some((text) => /[\0\r\n]/.test(text));
  for (const fork of FORKS) readings.fork(fork);
  readings.fork(resolutions);
  if (!caseSensitive) readings.fork(foldedCases);
  const [path = '/', ...others] = readings.texts;
  const spelled = caseSensitive ? raw : raw.toLowerCase();
  if (spelled !== path && !others.includes(spelled)) others.push(spelled);
  return {
    path,
    otherReadings: others,
    suspicious: suspicious || readings.isCut,
    malformed,
  };
}

/** For a target that is too long to be read: what stands before the first odd character has one reading. */
function unread(raw: string, caseSensitive: boolean): CanonicalPath {
  const [plain = ''] = PLAIN_START.exec(raw.slice(0, MAX_ODD_LENGTH)) ?? [];
  // By hand: a pattern for the end of a text is tried at every place of it.
  let end = plain.length;
  while (plain.charCodeAt(end - 1) === DOT) end--;
  const path = plain.slice(0, end) || '/';
  return {
    path: caseSensitive ? path : path.toLowerCase(),
    otherReadings: NONE,
    suspicious: true,
    malformed: ENCODED_LINE_END.test(raw),
  };
}

function hasTooManySegments(text: string): boolean {
  let segments = 0;
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) {
    if (++segments > MAX_ODD_SEGMENTS) return true;
  }
  return false;
}

const PLAIN_START = /^(?:\/[\w~!$&'()*+,=:@-][\w~!$&'()*+,=:@.-]*)+/;

/** NUL, CR or LF, in any number of layers of escapes. */
const ENCODED_LINE_END = /[\0\r\n]|%(?:25)*0[0ad]/i;

/** The readings of one target, the likeliest first, as many as can be worked through. */
class Readings {
  texts: readonly string[];
  /** Some readings were left out. */
  isCut = false;

  constructor(text: string) {
    this.texts = [text];
  }

  /** Replaces each reading by all that a step makes of it. */
  fork(step: (text: string) => readonly string[]): void {
    const forked = this.texts.map(step);
    // Most steps change nothing.
    if (forked.every((texts, i) => texts.length === 1 && texts[0] === this.texts[i])) return;
    const found = new Set<string>();
    let characters = 0;
    for (const text of forked.flat()) {
      if (found.has(text)) continue;
      characters += text.length;
      // The first one always fits.
      if (found.size > 0 && (found.size === MAX_READINGS || characters > MAX_READING_CHARACTERS)) {
        this.isCut = true;
        break;
      }
      found.add(text);
    }
    this.texts = [...found];
  }
}

/** Lower case, and for characters that have none or several, lower case by way of upper case. */
function foldedCases(text: string): string[] {
  const lower = text.toLowerCase();
  return NOT_ASCII.test(text) ? [lower, text.toUpperCase().toLowerCase()] : [lower];
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
  (text) => (NOT_ASCII.test(text) ? [text, foldUnicode(text)] : [text]),
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
