import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParseOptions,
  parseDocument,
  type SchemaOptions,
} from 'yaml';
import {
  type Diagnostic,
  type DiagnosticDraft,
  diagnostic,
  type Excerpt,
  FileError,
  type Path,
  type Place,
  pathText,
} from '../diagnostic.ts';
import { isElsewhere, notShown } from '../text-file.ts';
import { boundsMistake, mistakesOf, PARSE_OPTIONS, type YamlBounds } from './mistakes.ts';
import { otherText, type YamlFileKind, type YamlMistake } from './parser-mistakes.ts';

export interface YamlKind extends YamlFileKind, YamlBounds {
  /** Whether no line of the file may be shown if it is no YAML. */
  readonly isSecret?: boolean;
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

export class YamlFile {
  /** Undefined if there are mistakes. */
  readonly value: unknown;
  readonly mistakes: readonly YamlMistake[];
  readonly #name: string;
  readonly #text: string;
  readonly #isSecret: boolean;
  readonly #document: Document;
  readonly #lines = new LineCounter();

  constructor(written: string, name: string, kind = POLICY_FILE) {
    const text = withoutMark(written);
    const tooLarge = boundsMistake(text, kind);
    this.#name = name;
    this.#text = text;
    this.#isSecret = kind.isSecret === true;
    this.#document = parseDocument(tooLarge === undefined ? text : '', {
      ...PARSE_OPTIONS,
      ...kind.options,
      lineCounter: this.#lines,
    });
    const refused =
      tooLarge === undefined ? otherText(text, kind.name) : { offset: 0, message: tooLarge };
    const mistakes = refused === undefined ? mistakesOf(this.#document, text, kind) : [refused];
    const value =
      mistakes.length === 0 ? (kind.toValue ?? toValue)(this.#document, mistakes) : undefined;
    this.value = mistakes.length === 0 ? value : undefined;
    this.mistakes = mistakes;
  }

  /** Throws a FileError if there are mistakes. `folder`: of the file that names this one, if any. */
  refuseMistakes(folder?: string): void {
    if (this.mistakes.length > 0) throw new FileError(this.placedMistakes(folder));
  }

  placedMistakes(folder?: string): Diagnostic[] {
    if (isElsewhere(this.#name, folder)) return [notShown(this.#name)];
    return this.mistakes.map(({ offset, message }) =>
      diagnostic({
        rule: 'invalid-yaml',
        file: this.#name,
        place: placeIn(this.#lines, offset),
        path: '',
        message,
        excerpt: this.#isSecret ? undefined : excerptOf(this.#text, offset),
      }),
    );
  }

  /** Looks up the places of diagnostics, and returns them in the order of the file. */
  diagnostics(drafts: readonly DiagnosticDraft[]): Diagnostic[] {
    // Without a key that every such file has, it is another kind of file.
    if (drafts.some(hasNoLine) && isElsewhere(this.#name)) return [notShown(this.#name)];
    return drafts
      .map((draft) => ({
        draft,
        offset: draft.offset ?? offsetOf(nodeAt(this.#document, draft.path)),
      }))
      .sort((a, b) => a.offset - b.offset)
      .map(({ draft, offset }) => {
        const { rule, path, message } = draft;
        const isShown = !hasNoLine(draft) && !mayHoldSecret(path);
        return diagnostic({
          rule,
          file: this.#name,
          place: placeIn(this.#lines, offset),
          path: pathText(path),
          message: path.length === 0 ? `the file ${message}` : message,
          excerpt: isShown ? excerptOf(this.#text, offset) : undefined,
        });
      });
  }

  has(path: Path): boolean {
    return this.#document.hasIn(path);
  }

  /** Where the value of a path begins. If there is none, where the closest value around it begins. */
  placeOf(path: Path): Place {
    return placeIn(this.#lines, offsetOf(nodeAt(this.#document, path)));
  }

  /** Characters before a key of the map at this path. */
  offsetOfKey(path: Path, key: string): number {
    const node = nodeAt(this.#document, path);
    const pair = isMap(node) ? node.items.find((item) => String(item.key) === key) : undefined;
    return offsetOf(isNode(pair?.key) ? pair.key : node);
  }

  /** Returns the comment on the line of an entry of the list at this path, otherwise the one above it, in one line. */
  commentAt(path: Path, index: number): string | undefined {
    const list = nodeAt(this.#document, path);
    if (!isSeq(list)) return undefined;
    // The parser gives a comment above a list to the list, and one on the line of a map to its first pair.
    const ofList = list.flow ? (list.comment ?? list.commentBefore) : undefined;
    const above = index === 0 ? list.commentBefore : undefined;
    const found = [...commentsIn(list.items[index]), ofList, above].find((text) => text?.trim());
    return found?.replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST_COMMENT);
  }
}

const LONGEST_COMMENT = 200;

/** A key that is missing at the top of the file has no line. */
function hasNoLine({ rule, path }: DiagnosticDraft): boolean {
  return path.length === 0 || (rule === 'missing-key' && path.length === 1);
}

/** Files hold digests of API keys; an author may have written the key itself by mistake. */
function mayHoldSecret(path: Path): boolean {
  return path.includes('api_key') || path.includes('sha256') || typeof path[0] === 'number';
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

function offsetOf(node: Node | null): number {
  const offset = node?.range?.[0] ?? 0;
  // An empty value has its place at the end of the line, where there is no character to point at.
  return isScalar(node) && node.source === '' ? Math.max(0, offset - 1) : offset;
}

function commentsIn(entry: unknown): (string | null | undefined)[] {
  if (!isNode(entry)) return [];
  const first = isMap(entry) && !entry.flow ? entry.items[0] : undefined;
  const value = isPair(first) && isNode(first.value) ? first.value.comment : undefined;
  return [entry.comment, value, entry.commentBefore];
}

/** A byte order mark would count as a column, and so as indentation. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function placeIn(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
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
