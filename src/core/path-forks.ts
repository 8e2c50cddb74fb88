/** Where servers go different ways with a target. Each step gives the readings of a text, the likeliest first. */
import { decode } from './percent-encoding.ts';

/** Lower case, and for characters that have none or several, lower case by way of upper case. */
export function foldedCases(text: string): string[] {
  const lower = text.toLowerCase();
  return NOT_ASCII.test(text) ? [lower, text.toUpperCase().toLowerCase()] : [lower];
}

/** Browsers drop control characters, and no proxy passes them on; NUL, CR and LF are another matter. */
export function withoutBlankControls(raw: string): string {
  return raw.replaceAll(BLANK_CONTROLS, '');
}

const BLANK_CONTROLS = /[[\p{Cc}&&\p{ASCII}]--[\0\r\n]]/gv;

/**
 * Some servers split a path before they decode it or turn its backslashes: then an encoded slash is a character of a
 * segment, which has a parameter's place to itself, or of a segment's `;params`, which are gone by then.
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

/**
 * The paths of a target in origin-form and absolute-form (RFC 9112, section 3.2), the likeliest first. With a slash in
 * front in any case.
 */
export function originForms(target: string): string[] {
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

/** Of a decoded path. The text itself is among the readings of each. */
export const FORKS: readonly ((text: string) => readonly string[])[] = [
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

export function upTo(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}
