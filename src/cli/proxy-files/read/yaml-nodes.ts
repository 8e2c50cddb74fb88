/** Searches the plain data of a YAML file. */

export type YamlMap = Readonly<Record<string, unknown>>;

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

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const text = at(value, ...path);
  return typeof text === 'string' ? text : undefined;
}
