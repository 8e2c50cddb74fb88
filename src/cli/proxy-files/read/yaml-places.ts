/** Finds maps of a YAML file together with their lines. Aliases stand for what they name. */

import type { Node, YAMLMap } from 'yaml';
import { type Document, isAlias, isMap, isSeq, LineCounter, parseDocument, visit } from 'yaml';

export interface PlacedMap {
  /** The node, to read parts of it with their places. */
  readonly node: YAMLMap;
  readonly line: number;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface PlacedYaml {
  /** The maps with this key, in the file or below a map. */
  with(key: string, below?: PlacedMap): PlacedMap[];
  /** The map at the end of a path below a map. */
  map(map: PlacedMap, ...path: readonly string[]): PlacedMap | undefined;
  /** The maps that a list below a map has. */
  list(map: PlacedMap, ...path: readonly string[]): PlacedMap[];
  /** The maps that are values of a map below a map, by their keys. */
  entries(map: PlacedMap, ...path: readonly string[]): (readonly [name: string, map: PlacedMap])[];
}

/** Throws a RangeError with the place if the text is not YAML. */
export function placedYaml(text: string): PlacedYaml {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  const [error] = document.errors;
  if (error !== undefined) throw new RangeError(error.message.split('\n', 1)[0] ?? '');
  const placed = (node: YAMLMap, at: unknown = node): PlacedMap => {
    let value: PlacedMap['value'] | undefined;
    return {
      node,
      line: lineCounter.linePos((at as YAMLMap).range?.[0] ?? 0).line,
      get value() {
        value ??= node.toJS(document, { maxAliasCount: 100 }) as PlacedMap['value'];
        return value;
      },
    };
  };
  const find = ({ node }: PlacedMap, path: readonly string[]): unknown =>
    path.reduce<unknown>(
      (found, key) => (isMap(found) ? meant(found.get(key, true), document) : undefined),
      node,
    );
  return {
    with(key, below) {
      const maps: PlacedMap[] = [];
      visit((below?.node ?? document) as Node, {
        Map(_, node) {
          if (node.has(key)) maps.push(placed(node));
        },
      });
      return maps;
    },
    map(map, ...path) {
      const found = find(map, path);
      return isMap(found) ? placed(found) : undefined;
    },
    list(map, ...path) {
      const list = find(map, path);
      if (!isSeq(list)) return [];
      return list.items.flatMap((each) => {
        const item = meant(each, document);
        return isMap(item) ? placed(item) : [];
      });
    },
    entries(map, ...path) {
      const found = find(map, path);
      if (!isMap(found)) return [];
      return found.items.flatMap(({ key, value }) => {
        const inner = meant(value, document);
        return isMap(inner) ? [[String(key), placed(inner, key)] as const] : [];
      });
    },
  };
}

function meant(node: unknown, document: Document): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}
