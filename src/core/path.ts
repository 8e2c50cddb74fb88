/**
 * The canonical path of a request target.
 *
 * Proxies and upstreams disagree on what `//api/%2e/LOGIN;x=1/` names. A policy must hold for every reading, so the
 * canonical form is the most lenient one, and where two lenient readings differ, the others are listed. Reading too
 * much into a path costs a token, reading too little is a bypass.
 *
 * The work is bounded whatever the target holds: an odd target is read only up to a length, and only so many readings
 * of it are followed. A target beyond either bound is refused: a reading that was left out could be one that a policy
 * names, and no other policy can stand for it.
 */
import {
  FORKS,
  foldedCases,
  originForms,
  splitBeforeDecoding,
  upTo,
  withoutBlankControls,
} from './path-forks.ts';
import { hasTooManySegments, resolutions } from './path-segments.ts';
import { decode } from './percent-encoding.ts';

export interface CanonicalPath {
  readonly path: string;
  /** Other paths that a server may take the target for, the raw spelling among them. None for a plain path. */
  readonly otherReadings: readonly string[];
  /** An invalid escape, overlong UTF-8 or too many layers of escapes: servers disagree about it. */
  readonly suspicious: boolean;
  /** Carries NUL, CR or LF, or is too long or too ambiguous to be read: nothing honest is. */
  readonly malformed: boolean;
}

const NONE: readonly string[] = [];
/** Characters. No honest target that is not plain comes near. */
const MAX_ODD_LENGTH = 2_048;
const MAX_READINGS = 24;
/** Of all readings together. Every step looks at each character a fixed number of times. */
const MAX_READING_CHARACTERS = 3_072;
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
  if (raw.length > MAX_ODD_LENGTH) return UNREADABLE;
  const readings = new Readings(withoutBlankControls(raw));
  let suspicious = false;
  const decoded = (text: string) => {
    const found = decode(text);
    suspicious ||= found.suspicious;
    return [found.text];
  };
  if (!readings.follow([originForms, splitBeforeDecoding, decoded])) return UNREADABLE;
  if (readings.texts.some(hasTooManySegments)) return UNREADABLE;
  const malformed = readings.texts.some((text) => /[\0\r\n]/.test(text));
  if (!readings.follow(FORKS)) return UNREADABLE;
  // Again: characters that stand for a slash are slashes by now.
  if (readings.texts.some(hasTooManySegments)) return UNREADABLE;
  const last = caseSensitive ? [resolutions] : [resolutions, foldedCases];
  if (!readings.follow(last)) return UNREADABLE;
  const [path = '/', ...others] = readings.texts;
  const spelled = caseSensitive ? raw : raw.toLowerCase();
  if (spelled !== path && !others.includes(spelled)) others.push(spelled);
  return { path, otherReadings: others, suspicious, malformed };
}

const UNREADABLE: CanonicalPath = {
  path: '/',
  otherReadings: NONE,
  suspicious: false,
  malformed: true,
};

type Step = (text: string) => readonly string[];

/** The readings of one target, the likeliest first. */
class Readings {
  texts: readonly string[];

  constructor(text: string) {
    this.texts = [text];
  }

  /** Replaces each reading by all that the steps make of it. False once they are more than can be worked through. */
  follow(steps: readonly Step[]): boolean {
    return steps.every((step) => this.#follow(step));
  }

  #follow(step: Step): boolean {
    const forked = this.texts.map(step);
    // Most steps change nothing.
    if (forked.every((texts, i) => texts.length === 1 && texts[0] === this.texts[i])) return true;
    const found = new Set(forked.flat());
    let characters = 0;
    for (const text of found) characters += text.length;
    this.texts = [...found];
    return found.size <= MAX_READINGS && (found.size === 1 || characters <= MAX_READING_CHARACTERS);
  }
}
