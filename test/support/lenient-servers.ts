/**
 * How families of real servers read a request target, in one small function each. A request belongs to a path if any
 * family would serve it as that path.
 *
 * Targets have one character for each byte, as `request.url` of Node.
 */

import { readingsOfUndecodable } from './undecodable.ts';

interface Family {
  readonly name: string;
  /** The paths that it may read in the target. */
  readonly readings: (target: string) => readonly string[];
  readonly ignoresCase?: boolean;
}

const FAMILIES: readonly Family[] = [
  { name: 'exact', readings: exact },
  { name: 'whatwg', readings: whatwg },
  { name: 'decode-once', readings: decodeOnce },
  { name: 'decode-twice', readings: decodeTwice },
  { name: 'decode-thrice', readings: decodeThrice },
  { name: 'express', readings: express, ignoresCase: true },
  { name: 'tomcat', readings: tomcat },
  { name: 'nginx', readings: nginx },
  { name: 'go', readings: go },
  { name: 'iis', readings: iis, ignoresCase: true },
  { name: 'nfkc', readings: nfkc, ignoresCase: true },
  { name: 'c-string', readings: cString },
  { name: 'undecodable', readings: undecodable },
];

/** The names of the families that would serve the target as this path. */
export function servesPath(target: string, path: string): string[] {
  return FAMILIES.filter(({ readings, ignoresCase = false }) => {
    const spelled = (text: string) => (ignoresCase ? text.toLowerCase() : text);
    return readings(target).some((reading) => spelled(reading) === spelled(path));
  }).map(({ name }) => name);
}

/** Compares the path without decoding it, as small servers do. */
function exact(target: string): string[] {
  return [upTo(target, '?')];
}

/** `new URL`, as many Node and Deno applications use it: with the target as a reference, or pasted to an origin. */
function whatwg(target: string): string[] {
  const origin = 'http://localhost';
  return [URL.parse(target, origin), URL.parse(origin + target)].flatMap((url) =>
    url === null ? [] : [url.pathname, text(percentDecoded(url.pathname))],
  );
}

function decodeOnce(target: string): string[] {
  return withAndWithoutDots(text(percentDecoded(pathOf(target))));
}

/** A proxy that forwards the decoded path, and a server behind it that decodes it again. */
function decodeTwice(target: string): string[] {
  const forwarded = percentDecoded(pathOf(target));
  return [forwarded, pathOf(forwarded), upTo(pathOf(forwarded), '#')].flatMap((path) =>
    withAndWithoutDots(text(percentDecoded(path))),
  );
}

function decodeThrice(target: string): string[] {
  return withAndWithoutDots(text(percentDecoded(percentDecoded(percentDecoded(pathOf(target))))));
}

/** Express and its kin: `url.parse`, which trims and takes backslashes for slashes, then a pattern with `/?$` and `i`. */
function express(target: string): string[] {
  const path = upTo(pathOf(target.trim().replace(/^[^?]*/, slashed)), '#');
  return [path, text(percentDecoded(path))].map(withoutTrailingSlash);
}

/**
 * Tomcat, and Spring behind it: parameters go first, then escapes, then dot segments. Others decode before they look
 * for parameters, and some take everything behind the first `;` for one.
 */
function tomcat(target: string): string[] {
  const path = pathOf(target);
  return [
    percentDecoded(withoutParameters(path)),
    withoutParameters(percentDecoded(path)),
    percentDecoded(upTo(path, ';')),
  ].map((each) => withoutTrailingSlash(resolved(slashed(text(each)))));
}

/** Decodes once, merges slashes, resolves dot segments; ignores what follows a `#`. */
function nginx(target: string): string[] {
  return [resolved(text(percentDecoded(upTo(pathOf(target), '#'))))];
}

/** `url.ParseRequestURI`, which leaves a `#` in the path, then `path.Clean`. */
function go(target: string): string[] {
  return [withoutTrailingSlash(resolved(text(percentDecoded(pathOf(target)))))];
}

/**
 * IIS and what Windows does with a file name: `%uXXXX`, overlong UTF-8, characters that fit best, backslashes, dots and
 * spaces that end a name. Its older versions decode twice.
 */
function iis(target: string): string[] {
  const once = windowsDecoded(pathOf(target));
  return [once, windowsDecoded(once)].map((path) => {
    const plain = resolved(slashed(bestFit(path)));
    return withoutTrailingSlash(plain.replace(/(?<=[^./])\.(?=\/)/g, '').replace(/[. ]+$/, ''));
  });
}

/** Compatibility normalisation after decoding, as name preparation and some databases do. */
function nfkc(target: string): string[] {
  const path = text(percentDecoded(pathOf(target))).normalize('NFKC');
  return [path, resolved(slashed(path))].map(withoutTrailingSlash);
}

/** A server that passes the decoded path to C, where it ends at a NUL. */
function cString(target: string): string[] {
  return [
    percentDecoded(pathOf(target)),
    percentDecoded(percentDecoded(pathOf(target))),
    windowsDecoded(pathOf(target)),
  ].map((path) => resolved(text(upTo(path, '\0'))));
}

/** Drops, replaces or cuts what it cannot decode. */
function undecodable(target: string): string[] {
  return readingsOfUndecodable(pathOf(target)).map(resolved).map(withoutTrailingSlash);
}

/** Without the query, and without the scheme and authority of an absolute form. */
function pathOf(target: string): string {
  const path = upTo(target, '?');
  return path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '') || '/';
}

function upTo(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

/** Decodes once. Invalid escapes stay. The result has one character for each byte. */
function percentDecoded(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, digits) => byte(digits));
}

function byte(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}

function text(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/');
}

function withAndWithoutDots(path: string): string[] {
  return [path, resolved(path)];
}

/** Merges slashes and resolves `.` and `..`; a slash at the end stays. */
function resolved(path: string): string {
  const kept: string[] = [];
  const segments = path.split('/');
  for (const segment of segments) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const open = /^\.{0,2}$/.test(segments.at(-1) ?? '') && kept.length > 0;
  return `/${kept.join('/')}${open ? '/' : ''}`;
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function withoutParameters(path: string): string {
  return path.replace(/;[^/]*/g, '');
}

/** Characters, not bytes: `%u` names one, and overlong UTF-8 hides one. */
function windowsDecoded(path: string): string {
  return lenientText(percentDecoded(path)).replace(/%u([0-9a-f]{4})/gi, (_, digits) =>
    byte(digits),
  );
}

/** UTF-8, read without a check for overlong sequences. */
function lenientText(bytes: string): string {
  return bytes.replace(
    /[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}/g,
    (sequence) => {
      const [lead = 0, ...rest] = [...sequence].map((char) => char.charCodeAt(0));
      const first = lead & (0x3f >> rest.length);
      const code = rest.reduce((sum, next) => (sum << 6) | (next & 0x3f), first);
      return code > 0x10ffff ? sequence : String.fromCodePoint(code);
    },
  );
}

/** A code page replaces characters that it lacks: a wide letter by the narrow one, a division slash by a slash. */
function bestFit(path: string): string {
  return path.normalize('NFKC').replaceAll('\u2215', '/').replaceAll('\u2216', '\\');
}
