/** Splits a Caddyfile into the words of its lines. */
import type { CaddyLine } from './imports.ts';

/** The words of a line, without quotes. `{` and `}` are words too. */
export interface CaddyWords {
  readonly words: readonly string[];
  /** `Caddyfile:12` */
  readonly place: string;
}

/** Lines without words are left out. Lines that a backslash, quotes or a heredoc continue are one. */
export function caddyWords(lines: readonly CaddyLine[]): CaddyWords[] {
  const found: CaddyWords[] = [];
  for (let at = 0; at < lines.length; ) {
    const { place } = lines[at] as CaddyLine;
    const { words, next } = wordsFrom(lines, at);
    if (words.length > 0) found.push({ words, place });
    at = next;
  }
  return found;
}

const HEREDOC = /^<<([\w-]+)$/;
/** A quoted text, or a word. Only in quotes does `\"` stand for a quote. */
const WORD = /\s*(?:"((?:\\"|[^"])*)("?)|`([^`]*)(`?)|(#.*)|((?:\\.|\S)+))/sy;

function wordsFrom(
  lines: readonly CaddyLine[],
  start: number,
): { readonly words: readonly string[]; readonly next: number } {
  const words: string[] = [];
  let next = start + 1;
  let text = textOf(lines, start);
  /** Adds the following line. False at the end of the file. */
  const goesOn = (joint: string) => {
    if (next >= lines.length) return false;
    text += joint + textOf(lines, next++);
    return true;
  };
  for (WORD.lastIndex = 0; ; ) {
    const from = WORD.lastIndex;
    const [, quoted, quote, raw, tick, comment, plain] = WORD.exec(text) ?? [];
    if (quote === '' || tick === '') {
      if (goesOn('\n')) {
        WORD.lastIndex = from;
        continue;
      }
    }
    if (plain === '\\' && WORD.lastIndex === text.trimEnd().length) {
      text = text.slice(0, from);
      if (!goesOn(' ')) return { words, next };
      WORD.lastIndex = from;
      continue;
    }
    const word = quoted?.replaceAll('\\"', '"') ?? raw ?? plain;
    if (word === undefined || comment !== undefined) return { words, next };
    const marker = HEREDOC.exec(plain ?? '')?.[1];
    if (marker === undefined) words.push(word);
    else {
      next = endOfHeredoc(lines, next, marker);
      return { words: [...words, ''], next };
    }
  }
}

function textOf(lines: readonly CaddyLine[], at: number): string {
  return lines[at]?.text.replace(/\r$/, '') ?? '';
}

/** The line after the marker. */
function endOfHeredoc(lines: readonly CaddyLine[], from: number, marker: string): number {
  const end = lines.findIndex(({ text }, i) => i >= from && text.trim().startsWith(marker));
  return end === -1 ? lines.length : end + 1;
}
