import { dirname } from 'node:path';
import { lineText } from '../../file-place.ts';
import { includeBudget, includeFindings, type ProxyFiles } from '../proxy-files.ts';

export interface CaddyLine {
  readonly text: string;
  readonly place: string;
}

interface Part {
  readonly name: string;
  readonly text: string;
  readonly folder: string | undefined;
}

export function readCaddyfile(files: ProxyFiles) {
  const budget = includeBudget(files);
  const expanded = ({ name, text, folder }: Part, open: readonly string[]): CaddyLine[] =>
    text.split('\n').flatMap((line, i) => {
      const [, path] = /^\s*import\s+"?([^\s"]+)"?/.exec(line) ?? [];
      const place = { file: name, line: i + 1, column: 1 };
      // A name without a dot or a slash is a snippet of the Caddyfile.
      if (path === undefined || !/[./*]/.test(path))
        return [{ text: line, place: lineText(place) }];
      const imported = budget.read({ path, place, open, ...(folder && { folder }) });
      return imported.flatMap((file) =>
        expanded({ ...file, folder: dirname(file.path) }, [...open, file.path]),
      );
    });
  const lines = expanded({ ...files.main, folder: undefined }, []);
  const text = lines.map((line) => line.text).join('\n');
  return { text, lines, findings: includeFindings(budget.problems()) };
}

export interface CaddyWords {
  readonly words: readonly string[];
  readonly place: string;
}

/** Leaves out lines without words, and joins those that a backslash, quotes or a heredoc continue. */
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
/** Only in quotes does `\"` stand for a quote. */
const WORD = /\s*(?:"((?:\\"|[^"])*)("?)|`([^`]*)(`?)|(#.*)|((?:\\.|\S)+))/sy;

function wordsFrom(
  lines: readonly CaddyLine[],
  start: number,
): { readonly words: readonly string[]; readonly next: number } {
  const words: string[] = [];
  let next = start + 1;
  let text = textOf(lines, start);
  /** Adds the following line, and returns false at the end of the file. */
  const goesOn = (joint: string) => {
    if (next >= lines.length) return false;
    text += joint + textOf(lines, next++);
    return true;
  };
  for (WORD.lastIndex = 0; ; ) {
    const from = WORD.lastIndex;
    const [, quoted, quote, raw, tick, comment, plain] = WORD.exec(text) ?? [];
    if ((quote === '' || tick === '') && goesOn('\n')) {
      WORD.lastIndex = from;
      continue;
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
    if (marker !== undefined)
      return { words: [...words, ''], next: endOfHeredoc(lines, next, marker) };
    words.push(word);
  }
}

function textOf(lines: readonly CaddyLine[], at: number): string {
  return lines[at]?.text.replace(/\r$/, '') ?? '';
}

function endOfHeredoc(lines: readonly CaddyLine[], from: number, marker: string): number {
  const end = lines.findIndex(({ text }, i) => i >= from && text.trim().startsWith(marker));
  return end === -1 ? lines.length : end + 1;
}
