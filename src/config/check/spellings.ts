/**
 * Request targets that some server may take for a path.
 *
 * Whoever wants past the policy of `/api/auth/login` asks for it in a spelling that the gateway takes for something
 * else and the application does not. These are the spellings that have worked against somebody, so that a policy file
 * and the gateway itself can be asked about each of them. Targets are as they travel: one character a byte, and never a
 * CR or LF.
 */

export interface Transformation {
  readonly name: string;
  /** Other spellings of a target: at one place, then everywhere. None where it has nothing to change. */
  readonly spell: (target: string) => readonly string[];
}

/** One transformation at a time: cheap enough for every policy of a file. */
export function simpleSpellingsOf(path: string): string[] {
  const target = asTarget(path);
  return without(
    target,
    TRANSFORMATIONS.flatMap(({ spell }) => spell(target)),
  );
}

/** Every transformation, and every two of them, one on top of the other or side by side. */
export function spellingsOf(path: string): string[] {
  const target = asTarget(path);
  const pairs = TRANSFORMATIONS.flatMap((first, i) => {
    const [once] = first.spell(target);
    // Some only change what another one wrote.
    const base = once ?? target;
    return TRANSFORMATIONS.slice(i + 1).flatMap(({ spell }) => spell(base).slice(0, 1));
  });
  return without(target, [...simpleSpellingsOf(path), ...pairs]);
}

/** How an honest client writes the path. */
export function asTarget(path: string): string {
  return path.toWellFormed().replace(/[^a-z0-9\-_~!$&'()*+,=:@./]/giu, encodeURIComponent);
}

function without(target: string, spellings: readonly string[]): string[] {
  return [...new Set(spellings)].filter((spelling) => spelling !== target);
}

/** An escape is one character of a target, whatever is written in it. */
const CHARACTER = /%u[0-9a-f]{4}|%[0-9a-f]{2}|./gis;

/** Replaces one letter or digit of the last segment, then every one of the path. */
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

/** Replaces the last slash, then every one. A target keeps its first: without it, nothing is a path. */
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

function hex(code: number, digits = 2): string {
  return code.toString(16).padStart(digits, '0');
}

function escaped(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${hex(byte)}`).join('');
}

/** UTF-8 with more bytes than the character needs: no valid text, and read as the character all the same. */
function overlong(text: string, bytes: 2 | 3 | 4): string {
  return [...text].map((char) => overlongCharacter(char.charCodeAt(0), bytes)).join('');
}

const OVERLONG_LEADS = { 2: 0xc0, 3: 0xe0, 4: 0xf0 };

function overlongCharacter(code: number, bytes: 2 | 3 | 4): string {
  const lower = [];
  for (let i = bytes - 2; i >= 0; i--) lower.push(0x80 | ((code >> (6 * i)) & 0x3f));
  const lead = OVERLONG_LEADS[bytes] | (code >> (6 * (bytes - 1)));
  return [lead, ...lower].map((byte) => `%${hex(byte)}`).join('');
}

/** As JScript and IIS write it. */
function percentU(text: string): string {
  return [...text].map((char) => `%u${hex(char.charCodeAt(0), 4)}`).join('');
}

/** The wide forms of East Asian typesetting, which compatibility normalisation folds into ASCII. */
function fullwidth(text: string): string {
  return [...text].map((char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0)).join('');
}

/** U+24D0 and what follows it: an a in a circle. */
function circled(letter: string): string {
  return /[a-z]/i.test(letter)
    ? String.fromCharCode(letter.toLowerCase().charCodeAt(0) - 0x61 + 0x24d0)
    : letter;
}

function otherCase(letter: string): string {
  const upper = letter.toUpperCase();
  return upper === letter ? letter.toLowerCase() : upper;
}

/** `%` itself escaped, so that one more round of decoding is needed. */
function again(text: string): string {
  return text.replaceAll('%', '%25');
}

/** Escapes of bytes beyond ASCII as those bytes. */
function asBytes(text: string): string {
  return text.replace(/%([89a-f][0-9a-f])/gi, (_, digits) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

/**
 * In the order in which they are applied to one target: letters first, what stands around the path last, so that a
 * later one never takes the work of an earlier one for a part of the path.
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
