/**
 * The canonical path of a request target.
 *
 * Proxies and upstreams disagree on what `//api/%2e/LOGIN;x=1/` names. A policy must hold for every reading, so the
 * canonical form is the most lenient one, and where two lenient readings differ, the others are listed. Reading too
 * much into a path costs a token, reading too little is a bypass.
 */

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
const MAX_DECODE_ROUNDS = 3;
const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;
const DOT = 0x2e;
const ESCAPE = /%[0-9a-f]{2}/i;

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
  for (let i = 1; i < target.length; i++) {
    const code = target.charCodeAt(i);
    if (code === QUESTION_MARK) return previous === SLASH && i > 1 ? -1 : i;
    if (code === SLASH) {
      if (previous === SLASH) return -1;
    } else {
      const kind = code < 128 ? PLAIN[code] : 0;
      if (kind === 0 || (kind === 2 && !caseSensitive)) return -1;
      if (code === DOT && previous === SLASH) return -1;
    }
    previous = code;
  }
  return previous === SLASH && target.length > 1 ? -1 : target.length;
}

function canonicaliseOddTarget(target: string, caseSensitive: boolean): CanonicalPath {
  const beforeQuery = upTo(withoutAuthority(target), '?');
  const raw = upTo(beforeQuery, '#');
  const { text, suspicious } = decode(raw);
  let readings = [text];
  if (raw !== beforeQuery) readings.push(decode(beforeQuery).text);
  // `//host/path` is a path to some and a URL without a scheme to others; `;` ends a path for some, a segment for most.
  readings = readings.flatMap((each) => [each, ...networkPath(each)]);
  readings = readings.flatMap((each) => (each.includes(';') ? [each, upTo(each, ';')] : [each]));
  const spelled = [...readings.map(resolveSegments), raw];
  const [path = '/', ...others] = caseSensitive
    ? spelled
    : spelled.map((each) => each.toLowerCase());
  return {
    path,
    otherReadings: others.filter((each, i) => each !== path && others.indexOf(each) === i),
    suspicious,
    malformed: /[\0\r\n]/.test(text),
  };
}

/** What follows the scheme and authority of an absolute-form target; with a slash in front in any case. */
function withoutAuthority(target: string): string {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)?.[0] ?? '';
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function upTo(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

/** The path of `//host/path`, in a list of one; an empty list for any other text. */
function networkPath(text: string): string[] {
  const found = /^\/{2,}[^/]*(.*)$/s.exec(text);
  return found === null ? [] : [found[1] ?? ''];
}

/** Decodes as often as there is something to decode, within reason, and takes every backslash for a slash. */
function decode(raw: string): { text: string; suspicious: boolean } {
  // Header values come as one character a byte: what is not ASCII in them is the UTF-8 that a client did not encode.
  let text = raw.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  let suspicious = false;
  for (let round = 0; round < MAX_DECODE_ROUNDS && text.includes('%'); round++) {
    const next = percentDecode(text);
    // Later rounds read what one server takes for text: `/50%25` is an honest way to write a percent sign.
    if (round === 0) suspicious = next.invalid;
    if (next.text === text) break;
    text = next.text;
  }
  return { text: text.replaceAll('\\', '/'), suspicious: suspicious || ESCAPE.test(text) };
}

/** Drops empty segments, `.`, `;params` and the segment before each `..`. */
function resolveSegments(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    const name = upTo(segment, ';');
    if (name === '..') kept.pop();
    else if (name !== '' && name !== '.') kept.push(name);
  }
  return `/${kept.join('/')}`;
}

/** One round of percent-decoding. Invalid escapes stay as they are; overlong UTF-8 is read as lenient servers do. */
function percentDecode(text: string): { text: string; invalid: boolean } {
  let invalid = false;
  const decoded = text.replace(/(?:%[0-9a-f]{2})+|%/gi, (run) => {
    if (run === '%') {
      invalid = true;
      return run;
    }
    try {
      return decodeURIComponent(run);
    } catch {
      invalid = true;
      return decodeLeniently(run);
    }
  });
  return { text: decoded, invalid };
}

/** Overlong forms of two and three bytes become the character that they hide, other bytes their Latin-1 character. */
function decodeLeniently(run: string): string {
  const bytes = run.match(/[0-9a-f]{2}/gi)?.map((hex) => Number.parseInt(hex, 16)) ?? [];
  let text = '';
  for (let i = 0; i < bytes.length; ) {
    const [first = 0, second = 0, third = 0] = bytes.slice(i, i + 3);
    if ((first === 0xc0 || first === 0xc1) && isContinuation(second)) {
      text += String.fromCharCode(((first & 0x01) << 6) | (second & 0x3f));
      i += 2;
    } else if (first === 0xe0 && second >= 0x80 && second < 0xa0 && isContinuation(third)) {
      text += String.fromCharCode(((second & 0x3f) << 6) | (third & 0x3f));
      i += 3;
    } else {
      text += String.fromCharCode(first);
      i += 1;
    }
  }
  return text;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
