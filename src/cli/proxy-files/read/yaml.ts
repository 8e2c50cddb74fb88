/** YAML of proxies as plain data, in which the line of each map is known. */
import {
  type Document,
  isMap as isMapNode,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  parseDocument,
} from 'yaml';

export type YamlMap = Readonly<Record<string, unknown>>;

/** Files repeat one value in each cluster or router. More repetitions make a small text a huge one. */
const MAX_ALIASES = 10_000;

const lines = new WeakMap<object, number>();
const linesOfKeys = new WeakMap<object, ReadonlyMap<string, number>>();

/** Throws a RangeError with the place if the text is not one document. */
export function yamlDocument(text: string): unknown {
  const lineCounter = new LineCounter();
  return plainData(parseDocument(text, { lineCounter }), lineCounter);
}

/** Throws a RangeError with the place. */
export function yamlDocuments(text: string): unknown[] {
  const lineCounter = new LineCounter();
  return [...parseAllDocuments(text, { lineCounter })].map((document) =>
    plainData(document as Document, lineCounter),
  );
}

function plainData(document: Document, lineCounter: LineCounter): unknown {
  const [error] = document.errors;
  if (error !== undefined) throw new RangeError(error.message.split('\n', 1)[0] ?? '');
  const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  const lineAt = (node: unknown) => lineCounter.linePos((node as Node).range?.[0] ?? 0).line;
  const place = (node: unknown, data: unknown): void => {
    if (isMapNode(node) && isMap(data)) {
      lines.set(data, lineAt(node));
      linesOfKeys.set(data, new Map(node.items.map(({ key }) => [String(key), lineAt(key)])));
      for (const item of node.items) place(item.value, data[String(item.key)]);
    } else if (isSeq(node) && Array.isArray(data)) {
      for (const [i, item] of node.items.entries()) place(item, data[i]);
    }
  };
  place(document.contents, value);
  return value;
}

export function lineOf(map: YamlMap): number {
  return lines.get(map) ?? 1;
}

export function lineOfKey(map: YamlMap, key: string): number {
  return linesOfKeys.get(map)?.get(key) ?? lineOf(map);
}

export function isMap(value: unknown): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (isMap(node) ? node[key] : undefined), value);
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const list = at(value, ...path);
  return Array.isArray(list) ? list : [];
}

export function mapsAt(value: unknown, ...path: readonly string[]): YamlMap[] {
  return listAt(value, ...path).filter(isMap);
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const text = at(value, ...path);
  return typeof text === 'string' ? text : undefined;
}

export function mapsWith(value: unknown, key: string): YamlMap[] {
  const found: YamlMap[] = [];
  const seen = new Set<unknown>();
  const walk = (each: unknown): void => {
    if (typeof each !== 'object' || each === null || seen.has(each)) return;
    seen.add(each);
    if (isMap(each) && Object.hasOwn(each, key)) found.push(each);
    for (const inner of Object.values(each)) walk(inner);
  };
  walk(value);
  return found;
}
