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
const MAX_READINGS = 12;
/** A bound for one reading. Honest clients escape such characters, so each takes six characters of a target or more. */
const MAX_BEYOND_ASCII = 384;
/** It stands for 18 characters (Unicode, annex 15), more than twice as many as any other. */
const LONGEST_LIGATURE = 0xfdfa;
const LENGTH_OF_LONGEST_LIGATURE = 18;
/** A bound for one reading, because each mark can be compared in many ways. */
const MAX_MARKS = 16;
/** A target that cannot be decoded is read twice, so it may have fewer characters. */
const MAX_UNCLEAR_LENGTH = 1_024;
/** A bound for all readings together. Every step reads each character a fixed number of times. */
const MAX_READING_CHARACTERS = 3_072;
/** The readings of what cannot be decoded are additional, so they have smaller bounds. */
const MAX_UNCLEAR_CHARACTERS = 768;
const MAX_UNCLEAR_READINGS = 8;
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
  const readings = new Readings(shown, MAX_READINGS, MAX_READING_CHARACTERS);
  const lenient = readingsOf(readings, caseSensitive, (text) => {
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
  const marked = new Readings(shown, MAX_UNCLEAR_READINGS, MAX_UNCLEAR_CHARACTERS);
  const withMarks = readingsOf(marked, caseSensitive, decodedWithGaps);
  if (withMarks === undefined) return UNREADABLE;
  const unclear = [...new Set(withMarks.paths.map(withSingleMarks))];
  return { ...known, unclear, malformed: withMarks.malformed };
}

function readingsOf(
  readings: Readings,
  caseSensitive: boolean,
  decoding: Step,
): { readonly paths: readonly string[]; readonly malformed: boolean } | undefined {
  if (!readings.follow([originForms, splitBeforeDecoding, decoding])) return;
  if (readings.texts.some(hasTooManySegments)) return;
  if (readings.texts.some(hasTooManyBeyondAscii)) return;
  // This is checked before the forks too, because they are most of the work.
  if (readings.texts.some(mayGoUp)) return;
  const malformed = readings.texts.some((text) => /[\0\r\n]/.test(text));
  if (!readings.follow(FORKS) || readings.texts.some(mayGoUp)) return;
  // Checked again: slash-like characters have become slashes.
  if (readings.texts.some(hasTooManySegments)) return;
  if (!readings.follow([resolutions])) return;
  if (!caseSensitive && !readings.follow([foldedCases])) return;
  return { paths: readings.texts, malformed };
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

class Readings {
  texts: readonly string[];

  readonly #most: number;
  readonly #maxCharacters: number;

  constructor(text: string, most: number, maxCharacters: number) {
    this.texts = [text];
    this.#most = most;
    this.#maxCharacters = maxCharacters;
  }

  /** Replaces each reading by the readings that each step returns for it. False if they become too many. */
  follow(steps: readonly Step[]): boolean {
    return steps.every((step) => this.#follow(step));
  }

  /** Stops as soon as there are too many, so that no step returns many times as many. */
  #follow(step: Step): boolean {
    let found: Set<string> | undefined;
    for (const [i, text] of this.texts.entries()) {
      const readings = step(text);
      if (found === undefined) {
        if (readings.length === 1 && readings[0] === text) continue;
        found = new Set(this.texts.slice(0, i));
      }
      for (const reading of readings) found.add(reading);
      if (found.size > this.#most) return false;
    }
    if (found === undefined) return true;
    this.texts = [...found];
    return this.texts.reduce((sum, { length }) => sum + length, 0) <= this.#maxCharacters;
  }
}
