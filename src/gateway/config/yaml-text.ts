/** Reads YAML strictly and within bounds, and finds the place of each value in the text. */
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParseOptions,
  parseDocument,
  type SchemaOptions,
} from 'yaml';
import type { Excerpt, Place } from './diagnostic.ts';
import { otherText } from './other-text.ts';
import { boundsMistake, type YamlBounds } from './yaml-bounds.ts';
import { commentOf } from './yaml-comment.ts';
import { mistakesOf, PARSE_OPTIONS, type YamlFileKind, type YamlMistake } from './yaml-mistakes.ts';
import type { Path } from './yaml-path.ts';

export interface YamlText {
  readonly value: unknown;
  /** If there are any, the value is undefined. */
  readonly mistakes: readonly YamlMistake[];
  /** Whether the text has a value at this path. */
  has(path: Path): boolean;
  /** Where the value of a path begins; if there is none, where the closest value around it begins. */
  offsetOf(path: Path): number;
  /** Where a key of the map at this path begins. */
  offsetOfKey(path: Path, key: string): number;
  place(offset: number): Place;
  excerpt(offset: number): Excerpt | undefined;
  /** What the author wrote at an entry of the list at this path, in one line. */
  commentAt(path: Path, index: number): string | undefined;
}

/** A kind of file, for the messages about it, how large it may be, and how its values are read. */
export interface YamlKind extends YamlFileKind, YamlBounds {
  /** Options of the parser that differ from those of other files. */
  readonly options?: ParseOptions & SchemaOptions;
  /** Makes the value in place of the parser. Adds what makes the file unusable to `mistakes`. */
  readonly toValue?: (document: Document, mistakes: YamlMistake[]) => unknown;
}

export const POLICY_FILE: YamlKind = {
  name: 'a policy file',
  needed: '"version" and "default"',
  maxBytes: 1024 * 1024,
  maxParts: 300_000,
};

export function readYaml(written: string, kind = POLICY_FILE): YamlText {
  // A byte order mark would count as a column, and so as indentation.
  const text = written.startsWith('\ufeff') ? written.slice(1) : written;
  const lines = new LineCounter();
  const tooLarge = boundsMistake(text, kind);
  const document: Document = parseDocument(tooLarge === undefined ? text : '', {
    ...PARSE_OPTIONS,
    ...kind.options,
    lineCounter: lines,
  });
  const refused =
    tooLarge === undefined ? otherText(text, kind.name) : { offset: 0, message: tooLarge };
  const mistakes = refused === undefined ? mistakesOf(document, text, kind) : [refused];
  const value = mistakes.length === 0 ? (kind.toValue ?? toValue)(document, mistakes) : undefined;
  return {
    value: mistakes.length === 0 ? value : undefined,
    mistakes,
    has: (path) => document.hasIn(path),
    offsetOf: (path) => offsetOf(nodeAt(document, path)),
    offsetOfKey: (path, key) => {
      const node = nodeAt(document, path);
      const pair = isMap(node) ? node.items.find((item) => String(item.key) === key) : undefined;
      return offsetOf(isNode(pair?.key) ? pair.key : node);
    },
    place: (offset) => {
      const { line, col } = lines.linePos(offset);
      return { line: Math.max(1, line), column: Math.max(1, col) };
    },
    excerpt: (offset) => excerptOf(text, offset),
    commentAt: (path, index) => commentOf(nodeAt(document, path), index),
  };
}

/** Adds a mistake if aliases make a small text a huge value, which is known only now. */
function toValue(document: Document, mistakes: YamlMistake[]): unknown {
  try {
    return document.toJS({ maxAliasCount: 50 });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    const message = 'aliases repeat too much of the file, write their values out';
    mistakes.push({ offset: 0, message });
    return undefined;
  }
}

/** Characters of a long line to show on each side of the place. */
const EXCERPT_SIDE = 60;

function excerptOf(text: string, offset: number): Excerpt | undefined {
  const start = Math.max(text.lastIndexOf('\n', offset - 1) + 1, offset - EXCERPT_SIDE);
  const lineEnd = text.indexOf('\n', offset);
  const end = Math.min(lineEnd === -1 ? text.length : lineEnd, offset + EXCERPT_SIDE);
  // Each character becomes one column, so that the caret stays below its place.
  const line = text.slice(start, end).replaceAll(/[\p{C}\u2028\u2029]/gu, ' ');
  return line.trim() === '' ? undefined : { text: line.trimEnd(), caret: offset - start };
}

/** The node at a path, or the last node on the way to it. Compares keys as text: YAML reads `64:` as a number. */
function nodeAt(document: Document, path: Path): Node | null {
  let node: Node | null = document.contents;
  for (const part of path) {
    const next: unknown = isMap(node)
      ? node.items.find(({ key }) => String(key) === String(part))?.value
      : isSeq(node)
        ? node.items[Number(part)]
        : undefined;
    if (!isNode(next)) break;
    node = next;
  }
  return node;
}

function offsetOf(node: Node | null | undefined): number {
  const offset = node?.range?.[0] ?? 0;
  // An empty value has its place at the end of the line, where there is no character to point at.
  return isScalar(node) && node.source === '' ? Math.max(0, offset - 1) : offset;
}
