/** Finds maps of a YAML file together with their lines. */
import { isMap, isSeq, LineCounter, parseDocument, visit, type YAMLMap } from 'yaml';

export interface PlacedMap {
  /** The node, to read parts of it with their places. */
  readonly node: YAMLMap;
  readonly line: number;
  /** As plain data. */
  readonly value: Readonly<Record<string, unknown>>;
}

export interface PlacedYaml {
  /** The maps with this key. */
  with(key: string): PlacedMap[];
  /** The maps that a list below a map has. */
  list(map: PlacedMap, ...path: readonly string[]): PlacedMap[];
  /** The maps that are values of a map below a map, by their keys. */
  entries(map: PlacedMap, ...path: readonly string[]): (readonly [name: string, map: PlacedMap])[];
}

/** For a text that `yamlMaps` has read. */
export function placedYaml(text: string): PlacedYaml {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  const placed = (node: YAMLMap, at: unknown = node): PlacedMap => ({
    node,
    line: lineCounter.linePos((at as YAMLMap).range?.[0] ?? 0).line,
    value: node.toJS(document, { maxAliasCount: 100 }),
  });
  return {
    with(key) {
      const maps: PlacedMap[] = [];
      visit(document, {
        Map(_, node) {
          if (node.has(key)) maps.push(placed(node));
        },
      });
      return maps;
    },
    list({ node }, ...path) {
      const list = node.getIn(path);
      return isSeq(list) ? list.items.flatMap((each) => (isMap(each) ? placed(each) : [])) : [];
    },
    entries({ node }, ...path) {
      const map = node.getIn(path);
      if (!isMap(map)) return [];
      return map.items.flatMap(({ key, value }) =>
        isMap(value) ? [[String(key), placed(value, key)] as const] : [],
      );
    },
  };
}
