/** Reads as yaml.v2 of Go does, the parser of envoyproxy/ratelimit. The work is bounded, whatever aliases repeat. */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import type { DiagnosticDraft } from '../../config/diagnostic.ts';
import { secondDocument, type YamlMistake } from '../../config/yaml/parser-mistakes.ts';
import { isRecord } from '../../core/is-record.ts';
import { METADATA, REPORTED, TEXT_KEYS } from './keys.ts';
import { isFraction } from './yaml-scalars.ts';

/** Values, counted again for each alias of them. */
const MAX_VALUES = 1_000_000;
/** Aliases may stand in the values of others. */
const MAX_DEPTH = 100;
const MERGE = '<<';

type Values = Record<string, unknown>;

class Unusable extends Error {
  readonly offset: number;

  constructor(message: string, node: Node) {
    super(message);
    this.offset = startOf(node);
  }
}

/** Adds doubtful things to `remarks`, and what makes the file unusable to `mistakes`. */
export function valueFrom(
  document: Document,
  remarks: DiagnosticDraft[],
  mistakes: YamlMistake[],
): unknown {
  const second = secondDocument(document);
  if (second !== undefined) {
    const message = 'a second document begins here, only the first one is read';
    remarks.push({ rule: 'ratelimit-second-document', path: ['---'], offset: second, message });
  }
  try {
    return new ValueReader(document, remarks).read(document.contents);
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    mistakes.push({ offset: error.offset, message: error.message });
    return undefined;
  }
}

class ValueReader {
  readonly #remarks: DiagnosticDraft[];
  /** The nodes of each anchor, in the order of the file: an alias means the last one before it. */
  readonly #anchors = new Map<string, Node[]>();
  readonly #path: (string | number)[] = [];
  #values = 0;
  /** Whether what is read is metadata, which may hold any value. */
  #isFree = false;

  constructor(document: Document, remarks: DiagnosticDraft[]) {
    this.#remarks = remarks;
    visit(document, {
      Value: (_, node) => {
        if (node.anchor === undefined) return;
        const known = this.#anchors.get(node.anchor);
        if (known === undefined) this.#anchors.set(node.anchor, [node]);
        else known.push(node);
      },
    });
  }

  /** `key` is the key of the map that has the node as value. */
  read(node: unknown, key?: string): unknown {
    if (!isNode(node)) return null;
    if (++this.#values > MAX_VALUES) {
      throw new Unusable('aliases repeat too much of the file, write their values out', node);
    }
    if (this.#path.length > MAX_DEPTH) {
      throw new Unusable(
        'aliases make the file nest too deeply here, write their values out',
        node,
      );
    }
    if (this.#isFree && isScalar(node)) return node.value;
    if (isAlias(node)) return this.read(this.#meant(node), key);
    if (isScalar(node)) return this.#scalar(node, key);
    if (isSeq(node)) return node.items.map((item, i) => this.#at(i, () => this.read(item)));
    return isMap(node) ? this.#map(node) : null;
  }

  #scalar(node: Scalar, key = ''): unknown {
    const { value, source } = node;
    const isText = TEXT_KEYS.has(key);
    if (isFraction(value, source)) {
      const remedy = isText ? `is a fraction, quote it: "${source}"` : 'must not be a fraction';
      const path = [...this.#path];
      this.#remarks.push({ rule: 'invalid-value', path, offset: startOf(node), message: remedy });
      return REPORTED;
    }
    const isWord = typeof value === 'number' || typeof value === 'boolean';
    return isText && isWord ? (source ?? String(value)) : value;
  }

  #map({ items }: YAMLMap): Values {
    const values: Values = {};
    const written = new Set<string>();
    for (const pair of items) {
      if (isMerge(pair)) {
        this.#merge(values, pair.value);
        continue;
      }
      const key = isScalar(pair.key) ? keyText(pair.key.value, pair.key.source) : String(pair.key);
      this.#at(key, () => {
        if (written.has(key)) this.#remarkRepeated(pair, key);
        written.add(key);
        assign(values, key, this.#valueOf(key, pair.value));
      });
    }
    return values;
  }

  /** The value of a merge key is a map or a list of maps, of which earlier ones win. */
  #merge(values: Values, node: unknown): void {
    const sources = isSeq(node) ? [...node.items].reverse() : [node];
    for (const source of sources) {
      const read = this.read(source);
      if (!isNode(source) || !isRecord(read)) {
        const place = isNode(source) ? source : isNode(node) ? node : undefined;
        if (place === undefined) continue;
        throw new Unusable('"<<" needs a map, or a list of maps', place);
      }
      for (const [key, value] of Object.entries(read)) assign(values, key, value);
    }
  }

  #valueOf(key: string, node: unknown): unknown {
    if (this.#isFree || key !== METADATA) return this.read(node, key);
    this.#isFree = true;
    const value = this.read(node);
    this.#isFree = false;
    return value;
  }

  #meant(alias: Alias): Node | undefined {
    const offset = startOf(alias);
    return this.#anchors.get(alias.source)?.findLast((node) => startOf(node) < offset);
  }

  #remarkRepeated({ key }: Pair, name: string): void {
    const offset = isNode(key) ? startOf(key) : 0;
    const message = `"${name}" is repeated in this map, and the last one counts: keep one of them`;
    this.#remarks.push({ rule: 'ratelimit-repeated-key', path: [...this.#path], offset, message });
  }

  #at<T>(part: string | number, read: () => T): T {
    this.#path.push(part);
    const value = read();
    this.#path.pop();
    return value;
  }
}

/** The parser fills one limit from both, if a limit is given twice or merged. */
function assign(values: Values, key: string, value: unknown): void {
  const before = values[key];
  values[key] =
    key === 'rate_limit' && isRecord(before) && isRecord(value) ? { ...before, ...value } : value;
}

function isMerge({ key }: Pair): boolean {
  return isScalar(key) && key.value === MERGE && key.type === 'PLAIN';
}

function keyText(value: unknown, source: string | undefined): string {
  return typeof value === 'string' ? value : (source ?? String(value));
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
