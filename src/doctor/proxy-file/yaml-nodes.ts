/** Searches the maps of a YAML file. */
import { parseDocument } from 'yaml';

export type YamlMap = Readonly<Record<string, unknown>>;

/** Far more nodes than a file has that people write; aliases could make more. */
const MAX_NODES = 200_000;

/** Every map of the file. Throws a RangeError with the place if the text is not YAML. */
export function yamlMaps(text: string): YamlMap[] {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw new RangeError(error.message.split('\n', 1)[0] ?? '');
  const maps: YamlMap[] = [];
  const open: unknown[] = [document.toJS({ maxAliasCount: 100 })];
  for (let seen = 0; open.length > 0 && seen < MAX_NODES; seen++) {
    const node = open.pop();
    if (Array.isArray(node)) open.push(...node);
    else if (isMap(node)) {
      maps.push(node);
      open.push(...Object.values(node));
    }
  }
  return maps;
}

export function isMap(value: unknown): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at the end of a path; undefined if there is none. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (isMap(node) ? node[key] : undefined), value);
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const list = at(value, ...path);
  return Array.isArray(list) ? list : [];
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const text = at(value, ...path);
  return typeof text === 'string' ? text : undefined;
}
