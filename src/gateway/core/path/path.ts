/**
 * Finds the canonical path of a request target, and the other paths that servers may read it as.
 *
 * Proxies and applications disagree on what `//api/%2e/LOGIN;x=1/` names. A policy must hold for every reading, so the
 * canonical path is the most lenient reading, and the others are listed. A reading too many costs a token; a reading too
 * few is a bypass.
 *
 * The work is bounded for any target: an unusual target has a maximum length and a maximum number of readings. A target
 * beyond these is refused, because a reading that is left out could be the one that a policy names.
 */
import {
  FORKS,
  foldedCases,
  hasTooManySegments,
  originForms,
  resolutions,
  splitBeforeDecoding,
  upTo,
  withoutBlankControls,
} from './path-forks.ts';
import { decode } from './percent-encoding.ts';
import { decodedWithGaps, isMark, mayGoUp, withSingleMarks } from './undecodable.ts';

export interface CanonicalPath {
  readonly path: string;
  /** Other paths that a server may read, including the raw spelling. None for a plain path. */
  readonly otherReadings: readonly string[];
  /** The readings with marks for what cannot be decoded (undecodable.ts). There are none if everything can be decoded. */
  readonly unclear: readonly string[];
  /** Contains NUL, CR or LF, or is too long or has too many readings. No honest client sends such a path. */
  readonly malformed: boolean;
}

const NONE: readonly string[] = [];
/** Honest targets with unusual characters have far fewer characters. */
const MAX_ODD_LENGTH = 2_048;
/** A bound for one reading. Honest clients escape such characters, so each takes six characters of a target or more. */
const MAX_BEYOND_ASCII = 384;
/** It stands for 18 characters (Unicode, annex 15), more than twice as many as any other. */
const LONGEST_LIGATURE = 0xfdfa;
const LENGTH_OF_LONGEST_LIGATURE = 18;
/** A bound for one reading, because each mark can be compared in many ways. */
const MAX_MARKS = 16;
/** A target that cannot be decoded is read twice, so it may have fewer characters. */
const MAX_UNCLEAR_LENGTH = 1_024;

/** For all readings together. Every step reads each character a fixed number of times. */
interface Bounds {
  readonly maxReadings: number;
  readonly maxCharacters: number;
}

const CLEAR: Bounds = { maxReadings: 12, maxCharacters: 3_072 };
/** The readings of what cannot be decoded are additional, so they have smaller bounds. */
const UNCLEAR: Bounds = { maxReadings: 8, maxCharacters: 768 };

const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;
const DOT = 0x2e;
const COLON = 0x3a;

/** 1 for a character that may stand anywhere in a canonical path; letters may still change case. */
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
    unclear: NONE,
    malformed: false,
  };
}

/** Where the path ends if the target has only one reading, otherwise -1. Nearly every request has only one. */
function plainPathEnd(target: string): number {
  if (target.charCodeAt(0) !== SLASH) return -1;
  let previous = SLASH;
  let segments = 1;
  for (let i = 1; i < target.length; i++) {
    const code = target.charCodeAt(i);
    if (code === QUESTION_MARK) return endsPlainly(previous, i) ? i : -1;
    if (code === SLASH) {
      // Some servers drop a dot at the end of a segment.
      if (previous === SLASH || previous === DOT) return -1;
      segments++;
    } else {
      if (code >= 128 || PLAIN[code] === 0) return -1;
      // Some servers read a path that starts with a scheme as a URL.
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
  if (raw.length > MAX_ODD_LENGTH) return UNREADABLE;
  const shown = withoutBlankControls(raw);
  let unclearPlaces = 0;
  const lenient = readingsOf(shown, { ...CLEAR, caseSensitive }, (text) => {
    const decoded = decode(text);
    unclearPlaces = Math.max(unclearPlaces, decoded.unclearPlaces);
    if (text.includes('\ufffd')) unclearPlaces ||= 1;
    return [decoded.text];
  });
  if (lenient === undefined || unclearPlaces > MAX_MARKS) return UNREADABLE;
  const [path = '/', ...others] = lenient.paths;
  const { malformed } = lenient;
  const spelled = caseSensitive ? raw : raw.toLowerCase();
  if (spelled !== path && !others.includes(spelled)) others.push(spelled);
  const known = { path, otherReadings: others };
  if (unclearPlaces === 0 || malformed) return { ...known, unclear: NONE, malformed };
  if (raw.length > MAX_UNCLEAR_LENGTH) return UNREADABLE;
  const withMarks = readingsOf(shown, { ...UNCLEAR, caseSensitive }, decodedWithGaps);
  if (withMarks === undefined) return UNREADABLE;
  const unclear = [...new Set(withMarks.paths.map(withSingleMarks))];
  return { ...known, unclear, malformed: withMarks.malformed };
}

/** Returns undefined if there are too many readings. */
function readingsOf(
  target: string,
  { caseSensitive, ...bounds }: Bounds & { readonly caseSensitive: boolean },
  decoding: Step,
): { readonly paths: readonly string[]; readonly malformed: boolean } | undefined {
  const decoded = follow([target], [originForms, splitBeforeDecoding, decoding], bounds);
  if (decoded === undefined || decoded.some(hasTooManySegments)) return undefined;
  if (decoded.some(hasTooManyBeyondAscii) || decoded.some(mayGoUp)) return undefined;
  const forked = follow(decoded, FORKS, bounds);
  // Checked again, because slash-like characters have become slashes. Before the forks it saves most of the work.
  if (forked === undefined || forked.some(mayGoUp)) return undefined;
  if (forked.some(hasTooManySegments)) return undefined;
  const paths = follow(forked, caseSensitive ? [resolutions] : [resolutions, foldedCases], bounds);
  return paths && { paths, malformed: decoded.some((text) => /[\0\r\n]/.test(text)) };
}

function hasTooManyBeyondAscii(text: string): boolean {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code <= 127) continue;
    if (isMark(code)) count += MAX_BEYOND_ASCII / MAX_MARKS;
    else count += code === LONGEST_LIGATURE ? LENGTH_OF_LONGEST_LIGATURE : 1;
  }
  return count > MAX_BEYOND_ASCII;
}

const UNREADABLE: CanonicalPath = {
  path: '/',
  otherReadings: NONE,
  unclear: NONE,
  malformed: true,
};

type Step = (text: string) => readonly string[];

/** Replaces each reading by those that each step returns for it. Undefined if they become too many. */
function follow(
  texts: readonly string[],
  steps: readonly Step[],
  bounds: Bounds,
): readonly string[] | undefined {
  let found: readonly string[] | undefined = texts;
  for (const step of steps) found = found && followOne(found, step, bounds);
  return found;
}

/** Stops as soon as there are too many, so that no step returns many times as many. */
function followOne(
  texts: readonly string[],
  step: Step,
  { maxReadings, maxCharacters }: Bounds,
): readonly string[] | undefined {
  let found: Set<string> | undefined;
  for (const [i, text] of texts.entries()) {
    const readings = step(text);
    if (found === undefined) {
      if (readings.length === 1 && readings[0] === text) continue;
      found = new Set(texts.slice(0, i));
    }
    for (const reading of readings) found.add(reading);
    if (found.size > maxReadings) return undefined;
  }
  if (found === undefined) return texts;
  const all = [...found];
  return all.reduce((sum, { length }) => sum + length, 0) <= maxCharacters ? all : undefined;
}
