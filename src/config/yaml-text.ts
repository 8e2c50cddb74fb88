/** YAML that people wrote: read strictly, within bounds, with every value's place in the file. */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Excerpt, Place } from './diagnostic.ts';

export type Path = readonly (string | number)[];

export interface Mistake {
  readonly offset: number;
  readonly message: string;
}

export interface YamlText {
  readonly value: unknown;
  /** What makes the text unusable; the value is then undefined. */
  readonly mistakes: readonly Mistake[];
  /** Whether the text has a value at this path. */
  has(path: Path): boolean;
  /** Where a path's value stands, or the closest thing around it that exists. */
  offsetOf(path: Path): number;
  /** Where a key stands. */
  offsetOfKey(path: Path, key: string): number;
  place(offset: number): Place;
  excerpt(offset: number): Excerpt | undefined;
}

export interface YamlBounds {
  readonly maxBytes: number;
  /** Values, keys and lines, about: each takes memory and time, however short it is. */
  readonly maxParts: number;
}

const POLICY_FILE: YamlBounds = { maxBytes: 1024 * 1024, maxParts: 300_000 };
const MAX_DEPTH = 64;
/** The parser looks for each alias from the start of the file. */
const MAX_ALIASES = 100;
/** Nobody mends more at a time, and finding the place of each takes some. */
const MAX_MISTAKES = 100;

export function readYaml(written: string, bounds = POLICY_FILE): YamlText {
  // A byte order mark would count as a column, and so as indentation.
  const text = written.startsWith('\ufeff') ? written.slice(1) : written;
  const lines = new LineCounter();
  const unusable = boundsMistake(text, bounds);
  const document: Document = parseDocument(unusable === undefined ? text : '', {
    version: '1.2',
    strict: true,
    // Compares each key with all others; mistakesOfNodes does so in one go.
    uniqueKeys: false,
    logLevel: 'error',
    prettyErrors: false,
    lineCounter: lines,
  });
  const mistakes = unusable === undefined ? mistakesOf(document, text) : [unusable];
  const value = mistakes.length === 0 ? toValue(document, mistakes) : undefined;
  return {
    value,
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
  };
}

/** Of a long line, so much on each side of the place. */
const EXCERPT_SIDE = 60;

function excerptOf(text: string, offset: number): Excerpt | undefined {
  const start = Math.max(text.lastIndexOf('\n', offset - 1) + 1, offset - EXCERPT_SIDE);
  const lineEnd = text.indexOf('\n', offset);
  const end = Math.min(lineEnd === -1 ? text.length : lineEnd, offset + EXCERPT_SIDE);
  // One column for each character, so that the caret stays below its place.
  const line = text.slice(start, end).replaceAll(/[\p{C}\u2028\u2029]/gu, ' ');
  return line.trim() === '' ? undefined : { text: line.trimEnd(), caret: offset - start };
}

/** Aliases may make a small text a huge value: that is the one mistake which shows only here. */
function toValue(document: Document, mistakes: Mistake[]): unknown {
  try {
    return document.toJS({ maxAliasCount: 50 });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    mistakes.push({ offset: 0, message: 'aliases repeat too much of the file, write it out' });
    return undefined;
  }
}

/** The parser recurses and has no bounds of its own, so these are checked on the text. */
function boundsMistake(text: string, { maxBytes, maxParts }: YamlBounds): Mistake | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    const message = `the file has ${bytes} bytes, the most is ${maxBytes}`;
    return { offset: 0, message };
  }
  if (exceedsParts(text, maxParts)) {
    return { offset: 0, message: `the file has more than ${maxParts} values, keys and lines` };
  }
  if (exceedsDepth(text, MAX_DEPTH)) {
    return { offset: 0, message: `the file is nested deeper than ${MAX_DEPTH} levels` };
  }
  return undefined;
}

/** Separates values, or begins something else than a plain word. Each, in the wrong place, may be a mistake. */
const SEPARATOR = 1;
const INDICATOR = 2;
const KINDS = new Uint8Array(128);
for (const char of ',:[{\n\r') KINDS[char.charCodeAt(0)] = SEPARATOR;
for (const char of '"\'&*!?|>%@`]}') KINDS[char.charCodeAt(0)] = INDICATOR;

function exceedsParts(text: string, most: number): boolean {
  const counts: [number, number, number] = [0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 128) counts[KINDS[code] as 0 | 1 | 2]++;
  }
  return counts[SEPARATOR] > most || counts[INDICATOR] > most;
}

/** An upper bound of the nesting, from brackets and indentation alone. */
function exceedsDepth(text: string, most: number): boolean {
  let brackets = 0;
  const columns: number[] = [];
  for (const line of text.split(/\r\n|[\r\n]/)) {
    const lead = /^(?:[ \t]|[-?:](?=[ \t]|$))*/.exec(line)?.[0] ?? '';
    const starts = [...lead.matchAll(/[-?:]/g)].map((indicator) => indicator.index);
    if (lead.length < line.length) starts.push(lead.length);
    if (starts.length > 0) {
      while (columns.length > 0 && (columns.at(-1) ?? 0) >= (starts[0] ?? 0)) columns.pop();
      columns.push(...starts);
    }
    for (const char of line) {
      if (char === '[' || char === '{') brackets++;
      else if (char === ']' || char === '}') brackets = Math.max(0, brackets - 1);
      if (columns.length + brackets > most) return true;
    }
  }
  return false;
}

/** Where the parser speaks to programmers. */
const PLAINER: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'a second document begins here, a policy file is one',
  TAG_RESOLVE_FAILED: 'a tag that means nothing here, remove it',
};

function mistakesOf(document: Document, text: string): Mistake[] {
  // What only warns in YAML (an unknown tag, an odd directive) is still not what its author thinks it is.
  const found = [...document.errors, ...document.warnings].slice(0, MAX_MISTAKES);
  const mistakes = found.map(({ code, pos, message }) => ({
    offset: pos[0],
    message: PLAINER[code] ?? plain(message),
  }));
  const directive = /^%YAML[ \t].*$/m.exec(text);
  if (directive !== null && /^%YAML[ \t]+1\.2\s*$/.test(directive[0]) === false) {
    mistakes.push({
      offset: directive.index,
      message: `"${directive[0].trim()}" changes what values mean, remove the line: the file is YAML 1.2`,
    });
  }
  mistakes.push(...mistakesOfNodes(document).slice(0, MAX_MISTAKES));
  if (mistakes.length === 0 && document.contents === null) {
    mistakes.push({
      offset: 0,
      message: 'the file is empty, it needs at least "version" and "default"',
    });
  }
  return mistakes;
}

/** Aliases of nothing, keys that are there twice, and the one key that is a property of every object. */
function mistakesOfNodes(document: Document): Mistake[] {
  const mistakes: Mistake[] = [];
  const anchors = new Set<string>();
  let aliases = 0;
  visit(document, (_, node) => {
    if (mistakes.length >= MAX_MISTAKES) return visit.BREAK;
    if (isAlias(node)) {
      const offset = node.range?.[0] ?? 0;
      if (++aliases > MAX_ALIASES) {
        mistakes.push({
          offset,
          message: `the file has more than ${MAX_ALIASES} aliases, write them out`,
        });
        return visit.BREAK;
      }
      if (anchors.has(node.source)) return undefined;
      const message = `there is no anchor "&${node.source}" before this alias`;
      mistakes.push({ offset, message });
      return undefined;
    }
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined)
      anchors.add(node.anchor);
    if (isMap(node)) mistakes.push(...mistakesOfKeys(node).slice(0, MAX_MISTAKES));
    return undefined;
  });
  return mistakes;
}

function mistakesOfKeys({ items }: YAMLMap): Mistake[] {
  const known = new Set<string>();
  return items.flatMap(({ key }) => {
    const name = String(key);
    const offset = isNode(key) ? (key.range?.[0] ?? 0) : 0;
    if (name === '__proto__') return [{ offset, message: '"__proto__" is no key, remove it' }];
    if (known.has(name))
      return [{ offset, message: 'this key is there already, keep one of them' }];
    known.add(name);
    return [];
  });
}

const INDENTED =
  'this line is indented differently: keys of one map, and entries of one list, begin in the same column';

/** Without what the file says there, which may be a secret in the wrong place. */
function plain(message: string): string {
  const text = message.replace(/: ".*"$/s, '');
  if (/^All (mapping|collection|sequence) items must start/.test(text)) return INDENTED;
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

/** The node at a path, or the last one on the way to it. Keys are compared as text: `64:` is a number to YAML. */
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
  // An empty value stands at the end of its line; nothing is there to point at but its start.
  return isScalar(node) && node.source === '' ? Math.max(0, offset - 1) : offset;
}
