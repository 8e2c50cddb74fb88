/**
 * Spellings of a path that have evaded the policy of a path, because some server treats them as the same path. Targets
 * are as they are sent: one character for each byte, and never a CR or LF.
 */
import { targetOf } from '../../../gateway/config/policy-file/path-template.ts';
import {
  again,
  asBytes,
  circled,
  escaped,
  fullwidth,
  hex,
  otherCase,
  overlong,
  percentU,
} from './spelling-encodings.ts';

export interface Transformation {
  readonly name: string;
  /** Other spellings of a target: changed at one place, then everywhere. Empty if none differs from it. */
  readonly spell: (target: string) => readonly string[];
}

/** An escape counts as one character of a target. */
const CHARACTER = /%u[0-9a-f]{4}|%[0-9a-f]{2}|./gis;

/** Replaces one letter or digit of the last segment, then every letter and digit of the path. */
function letters(name: string, write: (letter: string) => string): Transformation {
  const spell = (target: string) => {
    const characters: string[] = target.match(CHARACTER) ?? [];
    const written = characters.map((each) => (/^[a-z0-9]$/i.test(each) ? write(each) : each));
    const changed = (i: number) => written[i] !== characters[i];
    const last = characters.lastIndexOf('/');
    const one = characters.findIndex((_, i) => i > last && changed(i));
    if (one === -1) return [];
    return [characters.with(one, written[one] ?? '').join(''), written.join('')];
  };
  return { name, spell };
}

/** Replaces the last slash, then every slash but the first: a path must begin with one. */
function slashes(name: string, text: string): Transformation {
  const spell = (target: string) => {
    const last = target.lastIndexOf('/');
    if (last <= 0) return [target.replace(/^\//, text.startsWith('/') ? text : `/${text}`)];
    const rest = target.slice(1);
    return [
      target.slice(0, last) + text + target.slice(last + 1),
      `/${rest.replaceAll('/', () => text)}`,
    ];
  };
  return { name, spell };
}

function ending(name: string, text: string): Transformation {
  return { name, spell: (target) => [target + text] };
}

function beginning(name: string, text: string): Transformation {
  return { name, spell: (target) => [target.replace(/^\//, () => text)] };
}

function rewriting(name: string, rewrite: (target: string) => string): Transformation {
  return { name, spell: (target) => [rewrite(target)] };
}

/**
 * In the order in which two of them are applied. Letters come first and additions around the path last, so that a later
 * transformation does not treat what an earlier one wrote as part of the path.
 */
export const TRANSFORMATIONS: readonly Transformation[] = [
  letters('the other case', otherCase),
  letters('an escape', escaped),
  letters('an escape with capital digits', (letter) => escaped(letter).toUpperCase()),
  letters('two layers of escapes', (letter) => again(escaped(letter))),
  letters('three layers of escapes', (letter) => again(again(escaped(letter)))),
  letters('an escape of escaped digits', (letter) => `%${escaped(hex(letter.charCodeAt(0)))}`),
  letters('overlong in two bytes', (letter) => overlong(letter, 2)),
  letters('overlong in three bytes', (letter) => overlong(letter, 3)),
  letters('overlong in four bytes', (letter) => overlong(letter, 4)),
  letters('%u', percentU),
  letters('%u, fullwidth', (letter) => percentU(fullwidth(letter))),
  letters('fullwidth', (letter) => escaped(fullwidth(letter))),
  letters('in a circle', (letter) => escaped(circled(letter))),
  letters('followed by a tab', (letter) => `${letter}\t`),
  letters('followed by NUL', (letter) => `${letter}%00`),
  letters('followed by a byte that is not UTF-8', (letter) => `${letter}%ff`),
  letters('followed by an escape of no byte', (letter) => `${letter}%zz`),

  slashes('two slashes', '//'),
  slashes('a dot segment', '/./'),
  slashes('there and back', '/x/../'),
  slashes('escaped dot', '/%2e/'),
  slashes('there and back, escaped', '/x/%2e%2E/'),
  slashes('there and back, half escaped', '/x/.%2e/'),
  slashes('there and back, in two layers', '/x/%252e%252e/'),
  slashes('there and back, in three layers', '/x/%25252e%25252e/'),
  slashes('there and back, two-byte dots', `/x/${overlong('..', 2)}/`),
  slashes('there and back, three-byte dots', `/x/${overlong('..', 3)}/`),
  slashes('there and back, four-byte dots', `/x/${overlong('..', 4)}/`),
  slashes('there and back, %u dots', `/x/${percentU('..')}/`),
  slashes('there and back, fullwidth dots', `/x/${escaped(fullwidth('..'))}/`),
  slashes('there and back, a two dot leader', `/x/${escaped('\u2025')}/`),
  slashes('a parameter', ';x=1/'),
  slashes('a dot segment with a parameter', '/.;x=1/'),
  slashes('there and back with a parameter', '/x/..;/'),
  slashes('an escaped slash', '%2f'),
  slashes('an escaped slash with capital digits', '%2F'),
  slashes('a slash in two layers', '%252f'),
  slashes('a slash in three layers', '%25252f'),
  slashes('a two-byte slash', overlong('/', 2)),
  slashes('a three-byte slash', overlong('/', 3)),
  slashes('a four-byte slash', overlong('/', 4)),
  slashes('a %u slash', percentU('/')),
  slashes('a %u division slash', percentU('\u2215')),
  slashes('a fullwidth slash', escaped(fullwidth('/'))),
  slashes('a backslash', '\\'),
  slashes('an escaped backslash', '%5c'),
  slashes('an escaped backslash with capital digits', '%5C'),
  slashes('a backslash in two layers', '%255c'),
  slashes('a two-byte backslash', overlong('\\', 2)),
  slashes('a fullwidth backslash', escaped(fullwidth('\\'))),
  slashes('a dot before a slash', './'),
  slashes('a space before a slash', '%20/'),
  slashes('NUL before a slash', '%00/'),
  slashes('a byte that is not UTF-8 behind a slash', '/%ff'),
  slashes('a percent sign before a slash', '%/'),
  slashes('an escape in parts', '%2%66'),

  ending('a slash', '/'),
  ending('two slashes', '//'),
  ending('an escaped slash', '%2f'),
  ending('a backslash', '\\'),
  ending('an escaped backslash', '%5c'),
  ending('a dot segment', '/.'),
  ending('there and back', '/x/..'),
  ending('there and back, escaped', '/x/%2e%2e/'),
  ending('a dot', '.'),
  ending('dots', '...'),
  ending('an escaped dot', '%2e'),
  ending('a space', ' '),
  ending('an escaped space', '%20'),
  ending('a dot and a space', '.%20'),
  ending('a tab', '\t'),
  ending('an escaped tab', '%09'),
  ending('a semicolon', ';'),
  ending('a parameter', ';x=1'),
  ending('an escaped parameter', '%3bx=1'),
  ending('a parameter and a segment', ';/x'),
  ending('a question mark', '?'),
  ending('a query', '?x=1'),
  ending('a query with dot segments', '?/../../x'),
  ending('an escaped query', '%3fx=1'),
  ending('a number sign', '#'),
  ending('a fragment', '#x'),
  ending('a fragment with dot segments', '#/../../x'),
  ending('an escaped fragment', '%23x'),
  ending('NUL', '%00'),
  ending('NUL and an extension', '%00.html'),
  ending('NUL in two layers', '%2500'),
  ending('a two-byte NUL', overlong('\0', 2)),
  ending('a %u NUL', percentU('\0')),
  ending('a byte that is not UTF-8, and an extension', '%ff.html'),
  ending('a percent sign', '%'),

  rewriting('one more layer of escapes', again),
  rewriting('bytes in place of escapes', asBytes),

  beginning('two slashes', '//'),
  beginning('from above the root', '/../../'),
  beginning('an absolute form', 'http://example.com/'),
  beginning('an absolute form of TLS', 'https://example.com/'),
  beginning('an absolute form in capitals', 'HTTP://EXAMPLE.COM/'),
  beginning('an absolute form with a user and a port', 'http://user:password@example.com:8080/'),
  beginning('an absolute form with an address', 'http://[::1]/'),
  beginning('an absolute form of another protocol', 'ws://example.com/'),
  beginning('an absolute form with a backslash', 'http://example.com\\'),
  beginning('an absolute form without a host', 'http:///'),
  beginning('an absolute form with three slashes', 'http:///example.com/'),
  beginning('an absolute form with one slash', 'https:/example.com/'),
  beginning('a scheme and no host', 'http:/'),
  beginning('a network path', '//example.com/'),
  beginning('a network path with a user and a port', '//user@example.com:8080/'),
  beginning('a network path with a backslash', '/\\example.com/'),
];

/** Applies one transformation at a time. This is cheap enough for every policy of a file. */
export function simpleSpellingsOf(path: string): string[] {
  const target = targetOf(path);
  const spellings = new Set(TRANSFORMATIONS.flatMap(({ spell }) => spell(target)));
  spellings.delete(target);
  return [...spellings];
}
