/**
 * Paths with bytes that cannot be decoded. Servers drop such bytes, keep them, replace them, or cut the path there, so
 * that a path with marks stands for all paths that they may make of it. path-around.ts finds the policies among these.
 *
 * The marks are halves of surrogate pairs, which no decoded text has.
 */
import { withoutLooseEnd } from './path-forks.ts';
import { decode, type Replacements } from './percent-encoding.ts';

/** Stands for any text within a segment, or none. */
const GAP = '\ud800';
/** Stands for the same, or for a slash: a percent sign that starts no escape, and the characters behind it. */
export const STRAY = '\ud801';

/** A server that decodes whatever some server decodes, one that decodes nothing invalid, and one that drops it. */
const DECODERS: readonly Replacements[] = [
  { bytes: GAP },
  { bytes: GAP, odd: GAP, stray: STRAY },
  { bytes: '', odd: '' },
];

/** How many layers of escapes there are does not matter here, nor how many stray signs are in a row. */
const LAYERS = /%(?:25)+/g;
const STRAY_SIGNS = /%{3,}/g;

export function decodedWithGaps(raw: string): string[] {
  const target = raw.replace(LAYERS, '%').replace(STRAY_SIGNS, '%%');
  const texts = DECODERS.map((decoder) => decode(target, decoder).text.replace(/\ufffd/g, GAP));
  return [...new Set(texts)].flatMap(withoutStrays).map((text) => text.replace(ROWS, single));
}

const ROWS = /[\ud800\ud801]{2,}/g;

/** A stray sign may leave behind it what has a meaning in a path. */
const STRAY_BEFORE_MARK = /[%\ud801][^/]{0,12}[.;#?\s]/;
const STRAY_BEFORE_SLASH = /[%\ud801][^/]{0,4}\//;

function withoutStrays(text: string): string[] {
  if (!/[%\ud801]/.test(text)) return [text];
  const texts = [withTakingStrays(text, '/')];
  if (STRAY_BEFORE_MARK.test(text)) texts.push(withTakingStrays(text, './;#? '));
  if (STRAY_BEFORE_SLASH.test(text)) texts.push(withTakingStrays(text, ''));
  return texts;
}

/** Each sign takes up to two characters with it, or five if it is `%u`, but none from one of `ends` on. */
function withTakingStrays(text: string, ends: string): string {
  let taken = '';
  let left = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    if (char === '%' || char === STRAY) {
      left += /u/i.test(text[i + 1] ?? '') ? 5 : 2;
      taken += STRAY;
    } else if (left === 0 || ends.includes(char)) {
      left = 0;
      taken += char;
    } else if (char !== GAP) left--;
  }
  return taken;
}

const MARK = /[\ud800\ud801]/;
const MARKS = /[\ud800\ud801]/g;

export function isMark(code: number): boolean {
  return code === 0xd800 || code === 0xd801;
}

export function withShownMarks(path: string): string {
  return path.replace(MARKS, '\ufffd');
}

/**
 * A mark beside `..` may be a slash or end the path. What remains then depends on what was there, which nobody can
 * tell.
 */
export function mayGoUp(path: string): boolean {
  return MARK.test(path) && GOING_UP.test(path);
}

const GOING_UP = /(?<!\.)\.[\ud800\ud801]*\.(?:[/;\ud800\ud801]|$)/;

/** One mark in place of several, and of the dots and blanks beside it that servers may drop at the ends of a name. */
export function withSingleMarks(path: string): string {
  return MARK.test(path) ? path.split('/').map(withSingleMark).join('/') : path;
}

function withSingleMark(segment: string): string {
  if (segment.length < 2 || !MARK.test(segment)) return segment;
  let kept = '';
  let start = 0;
  for (let i = 0; i < segment.length; i++) {
    if (!isMark(segment.charCodeAt(i))) continue;
    kept += withoutLooseEnd(segment.slice(start, i)) + segment[i];
    start = i + 1;
  }
  const rest = segment.slice(start);
  return (withoutLooseEnd(rest) === '' ? kept : kept + rest).replace(ROWS, single);
}

function single(marks: string): string {
  return marks.includes(STRAY) ? STRAY : GAP;
}
