/**
 * The canonical path of a request target.
 *
 * Proxies and upstreams disagree on what `//api/%2e/LOGIN;x=1/` names. A policy must hold for every reading, so the
 * canonical form is the most lenient one: what any of them might serve. Reading too much into a path costs a token,
 * reading too little is a bypass.
 */

export interface CanonicalPath {
  readonly path: string;
  /** The path without its query, as it was spelled. The same string as `path` when it was canonical already. */
  readonly raw: string;
  /** An invalid escape, overlong UTF-8 or too many layers of escapes: no two servers agree on it. */
  readonly suspicious: boolean;
  /** Carries NUL, CR or LF: nothing honest does. */
  readonly malformed: boolean;
}

const MAX_DECODE_ROUNDS = 3;
const SLASH = 0x2f;
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
    return { path, raw: path, suspicious: false, malformed: false };
  }
  return canonicaliseOddPath(rawPath(target), caseSensitive);
}

/** Where the path of a target ends that needs no work at all, or -1. Nearly every request takes this way. */
function plainPathEnd(target: string, caseSensitive: boolean): number {
  if (target.charCodeAt(0) !== SLASH) return -1;
  let previous = SLASH;
  for (let i = 1; i < target.length; i++) {
    const code = target.charCodeAt(i);
    if (code === 0x3f || code === 0x23) return previous === SLASH && i > 1 ? -1 : i;
    if (code === SLASH) {
      if (previous === SLASH) return -1;
    } else {
      const kind = code < 128 ? PLAIN[code] : 0;
      if (kind === 0 || (kind === 2 && !caseSensitive)) return -1;
      if (code === 0x2e && previous === SLASH) return -1;
    }
    previous = code;
  }
  return previous === SLASH && target.length > 1 ? -1 : target.length;
}

/** The target up to its query or fragment; of an absolute-form target, what follows the authority. */
function rawPath(target: string): string {
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target);
  const rest = absolute === null ? target : target.slice(absolute[0].length);
  const end = rest.search(/[?#]/);
  const path = end === -1 ? rest : rest.slice(0, end);
  return path.startsWith('/') ? path : `/${path}`;
}

function canonicaliseOddPath(raw: string, caseSensitive: boolean): CanonicalPath {
  // Header values come as one character a byte: what is not ASCII in them is the UTF-8 that a client did not encode.
  let decoded = raw.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  let suspicious = false;
  for (let round = 0; round < MAX_DECODE_ROUNDS && decoded.includes('%'); round++) {
    const next = percentDecode(decoded);
    // Later rounds read what one server takes for text: `/50%25` is an honest way to write a percent sign.
    if (round === 0) suspicious = next.invalid;
    if (next.text === decoded) break;
    decoded = next.text;
  }
  suspicious ||= ESCAPE.test(decoded);
  const segments = resolveSegments(decoded.replaceAll('\\', '/'));
  const path = `/${segments.join('/')}`;
  return {
    path: caseSensitive ? path : path.toLowerCase(),
    raw: caseSensitive ? raw : raw.toLowerCase(),
    suspicious,
    malformed: /[\0\r\n]/.test(decoded),
  };
}

/** Drops empty segments, `.`, `;params` and the segment before each `..`. */
function resolveSegments(path: string): string[] {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    const semicolon = segment.indexOf(';');
    const name = semicolon === -1 ? segment : segment.slice(0, semicolon);
    if (name === '..') kept.pop();
    else if (name !== '' && name !== '.') kept.push(name);
  }
  return kept;
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
