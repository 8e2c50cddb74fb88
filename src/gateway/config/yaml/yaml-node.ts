/** Reads the YAML files of other programs: their documents as trees of values, each with its place. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
} from 'yaml';
import type { FilePlace } from '../diagnostic.ts';
import { boundsMistake, type YamlBounds } from './bounds.ts';
import { mistakesOf, PARSE_OPTIONS } from './mistakes.ts';
import type { YamlFileKind } from './parser-mistakes.ts';
import { placeIn, withoutMark } from './places.ts';

/** `kubectl get ingress -A -o yaml` of a large cluster has some megabytes. */
const BOUNDS: YamlBounds = { maxBytes: 8 * 1024 * 1024, maxParts: 1_000_000 };
const KIND: YamlFileKind = { name: 'it', needed: 'one value' };

/** The text cannot be used. The message says what is wrong at the place. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly place: FilePlace;

  constructor(place: FilePlace, message: string) {
    super(message);
    this.place = place;
  }
}

/**
 * The documents of a text that have content. Throws a YamlError with the first mistake. `file` is the name that is shown
 * to people.
 */
export function readDocuments(written: string, file: string): YamlNode[] {
  const text = withoutMark(written);
  const start = { file, line: 1, column: 1 };
  const tooLarge = boundsMistake(text, BOUNDS);
  if (tooLarge !== undefined) throw new YamlError(start, tooLarge.message);
  const lines = new LineCounter();
  const placeOf = (offset: number) => ({ file, ...placeIn(lines, offset) });
  const documents = [...parseAllDocuments(text, { ...PARSE_OPTIONS, lineCounter: lines })].filter(
    ({ contents, errors }) => contents !== null || errors.length > 0,
  );
  if (documents.length === 0) throw new YamlError(start, 'the file is empty');
  return documents.map((document, i) => {
    const [mistake] = mistakesOf(document as Document, i === 0 ? text : '', KIND);
    if (mistake !== undefined) {
      const hint = text.includes('{{')
        ? '. It looks like a template: render it first, as helm template does'
        : '';
      throw new YamlError(placeOf(mistake.offset), `${mistake.message}${hint}`);
    }
    return new YamlNode(document.contents as Node, { document: document as Document, placeOf });
  });
}

interface NodeFile {
  readonly document: Document;
  readonly placeOf: (offset: number) => FilePlace;
}

const MERGE = '<<';
/** Merged maps may merge others. */
const MAX_MERGES = 4;

/** A value of a document. Aliases stand for what they name. What a value of its type does not have is undefined or empty. */
export class YamlNode {
  readonly #node: Node;
  readonly #file: NodeFile;
  readonly #offset: number;

  /** `offset` is where the key of the value begins, if it has one. */
  constructor(node: Node, file: NodeFile, offset?: number) {
    this.#node = isAlias(node) ? (node.resolve(file.document) ?? node) : node;
    this.#file = file;
    this.#offset = offset ?? node.range?.[0] ?? 0;
  }

  /** Where its key begins. Without a key, where the value begins. */
  get place(): FilePlace {
    return this.#file.placeOf(this.#offset);
  }

  /** Where the value itself begins. */
  get valuePlace(): FilePlace {
    return this.#file.placeOf(this.#node.range?.[0] ?? 0);
  }

  get isMap(): boolean {
    return isMap(this.#node);
  }

  get isList(): boolean {
    return isSeq(this.#node);
  }

  /** A text, or a number or another single value as it is written. */
  get text(): string | undefined {
    if (!isScalar(this.#node) || this.#node.value === null) return undefined;
    return String(this.#node.value);
  }

  get number(): number | undefined {
    const text = this.text;
    if (text === undefined || !/^[+-]?\d{1,15}(\.\d{1,15})?$/.test(text)) return undefined;
    return Number(text);
  }

  /** `true`, and the texts that people write in its place. */
  get isTrue(): boolean {
    return /^(true|yes|on)$/i.test(this.text ?? '');
  }

  /** Plain data. Throws a ReferenceError if aliases repeat too much of the file. */
  toData(): unknown {
    return this.#node.toJS(this.#file.document, { maxAliasCount: 100 });
  }

  /** The value at the end of a path of keys. */
  get(...path: readonly string[]): YamlNode | undefined {
    let node: YamlNode | undefined = this;
    for (const key of path) node = node?.entries().find(([name]) => name === key)?.[1];
    return node;
  }

  /** Finds a key that may be written in any case. */
  getAnyCase(key: string): YamlNode | undefined {
    return this.entries().find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];
  }

  /** The values of a map by their keys, with those that it merges. */
  entries(merges = 0): [string, YamlNode][] {
    if (!isMap(this.#node) || merges > MAX_MERGES) return [];
    const own: [string, YamlNode][] = [];
    const merged: [string, YamlNode][] = [];
    for (const { key, value } of this.#node.items) {
      if (!isNode(value)) continue;
      const node = new YamlNode(value, this.#file, isNode(key) ? key.range?.[0] : undefined);
      if (String(key) !== MERGE) own.push([String(key), node]);
      else
        for (const each of node.isList ? node.items() : [node])
          merged.push(...each.entries(merges + 1));
    }
    const names = new Set(own.map(([name]) => name));
    return [...own, ...merged.filter(([name]) => !names.has(name))];
  }

  /** The values of a list. */
  items(): YamlNode[] {
    if (!isSeq(this.#node)) return [];
    return this.#node.items.filter(isNode).map((item) => new YamlNode(item, this.#file));
  }

  /** The texts of a list, or of a single value. */
  texts(): string[] {
    const nodes = this.isList ? this.items() : [this];
    return nodes.map(({ text }) => text).filter((text) => text !== undefined);
  }

  /** Every map with this key in the value, in the order of the text. The value itself may be one. */
  mapsWith(key: string): YamlNode[] {
    const maps: YamlNode[] = [];
    visit(this.#node, {
      Map: (_, node) => {
        if (node.has(key)) maps.push(new YamlNode(node, this.#file));
      },
    });
    return maps;
  }

  /** Whether another value is written inside this one. */
  contains(other: YamlNode): boolean {
    const range = this.#node.range;
    const start = other.#node.range?.[0] ?? -1;
    return range !== undefined && range !== null && start >= range[0] && start < range[2];
  }
}
