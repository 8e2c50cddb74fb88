import type { LineCounter } from 'yaml';
import type { Excerpt, Place } from '../diagnostic.ts';

/** A byte order mark would count as a column, and so as indentation. */
export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

export function placeIn(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Characters of a long line to show on each side of the place. */
const EXCERPT_SIDE = 60;

export function excerptOf(text: string, offset: number): Excerpt | undefined {
  const start = Math.max(text.lastIndexOf('\n', offset - 1) + 1, offset - EXCERPT_SIDE);
  const lineEnd = text.indexOf('\n', offset);
  const end = Math.min(lineEnd === -1 ? text.length : lineEnd, offset + EXCERPT_SIDE);
  // Each character becomes one column, so that the caret stays below its place.
  const line = text.slice(start, end).replaceAll(/[\p{C}\u2028\u2029]/gu, ' ');
  return line.trim() === '' ? undefined : { text: line.trimEnd(), caret: offset - start };
}
