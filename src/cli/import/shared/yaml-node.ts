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
} from 'yaml';
import { boundsMistake, mistakesOf, PARSE_OPTIONS } from '../../../gateway/config/yaml/mistakes.ts';
import type { FilePlace } from '../../proxy-files/file-place.ts';
import type { ProxyText } from '../../proxy-files/read/proxy-files.ts';
import { ImportError, wrongSource } from './finding.ts';

/** `kubectl get ingress -A -o yaml` of a large cluster has some megabytes. */
const BOUNDS = { maxBytes: 8 * 1024 * 1024, maxParts: 1_000_000 };
const KIND = { name: 'it', needed: 'one value' };

/** The documents of a file that have content. Throws an ImportError if the file is not YAML. */
export function readDocuments({ text: written, name }: ProxyText): YamlNode[] {
  const text = written.startsWith('\ufeff') ? written.slice(1) : written;
  const tooLarge = boundsMistake(text, BOUNDS);
  if (tooLarge !== undefined) throw wrongSource(name, tooLarge);
  const lines = new LineCounter();
  const placeOf = (offset: number): FilePlace => {
    const { line, col } = lines.linePos(offset);
    return { file: name, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const options = { ...PARSE_OPTIONS, lineCounter: lines };
  const documents = [...parseAllDocuments(text, options)] as Document[];
  const filled = documents.filter(({ contents, errors }) => contents !== null || errors.length > 0);
  for (const [i, document] of filled.entries()) {
    const [mistake] = mistakesOf(document, i === 0 ? text : '', KIND);
    if (mistake !== undefined) {
      const hint = /\{\{/.test(text)
        ? '. It looks like a template: render it first, as helm template does'
        : '';
      throw new ImportError(placeOf(mistake.offset), `${mistake.message}${hint}`);
    }
  }
  if (filled.length === 0) throw wrongSource(name, 'the file is empty');
  return filled.map((document) => new YamlNode(document.contents as Node, { document, placeOf }));
}

const MERGE = '<<';

interface NodeFile {
  readonly document: Document;
  placeOf(offset: number): FilePlace;
}

/** A value of a document. Whatever it is, asking it for something else gives undefined or nothing. */
export class YamlNode {
  readonly #node: Node;
  readonly #file: NodeFile;
  readonly #at: number | undefined;

  /** `at` is where the key of the value begins, if it has one. */
  constructor(node: Node, file: NodeFile, at?: number) {
    this.#node = isAlias(node) ? (node.resolve(file.document) ?? node) : node;
    this.#file = file;
    this.#at = at ?? node.range?.[0];
  }

  /** Where its key begins; for others, where the value begins. */
  get place(): FilePlace {
    return this.#file.placeOf(this.#at ?? 0);
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
    return typeof this.#node.value === 'string' ? this.#node.value : String(this.#node.value);
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

  /** The value at the end of a path of keys. */
  get(...path: readonly string[]): YamlNode | undefined {
    let node: YamlNode | undefined = this;
    for (const key of path) node = node?.entries().find(([name]) => name === key)?.[1];
    return node;
  }

  /** The values of the list at the end of a path of keys. */
  itemsAt(...path: readonly string[]): YamlNode[] {
    return this.get(...path)?.items() ?? [];
  }

  /** As `get`, and keys may be written in any case. */
  getAnyCase(key: string): YamlNode | undefined {
    return this.entries().find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];
  }

  /** The values of a map, those that it merges too. */
  entries(depth = 0): [string, YamlNode][] {
    if (!isMap(this.#node) || depth > 4) return [];
    const own: [string, YamlNode][] = [];
    const merged: [string, YamlNode][] = [];
    for (const { key, value } of this.#node.items) {
      if (!isNode(value)) continue;
      const node = new YamlNode(value, this.#file, isNode(key) ? key.range?.[0] : undefined);
      if (String(key) !== MERGE) own.push([String(key), node]);
      else
        for (const each of node.isList ? node.items() : [node])
          merged.push(...each.entries(depth + 1));
    }
    const names = new Set(own.map(([name]) => name));
    return [...own, ...merged.filter(([name]) => !names.has(name))];
  }

  items(): YamlNode[] {
    if (!isSeq(this.#node)) return [];
    return this.#node.items.filter(isNode).map((item) => new YamlNode(item, this.#file));
  }

  /** The texts of a list, or of a single value. */
  texts(): string[] {
    const nodes = this.isList ? this.items() : [this];
    return nodes.map(({ text }) => text).filter((text) => text !== undefined);
  }
}
