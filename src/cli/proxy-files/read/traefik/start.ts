import { at, isMap, listAt, mapsWith, textAt } from '../yaml.ts';
import { plainName } from './sites.ts';

export interface TraefikStart {
  /** The name of the file with the routers. */
  readonly routers: string;
  readonly usual: readonly string[];
  middlewaresOf(entryPoint: string): readonly string[];
}

/** Returns undefined for another file, or without a file of routers. */
export function traefikStart(yaml: unknown): TraefikStart | undefined {
  const root = mapsWith(yaml, 'entryPoints').find(({ entryPoints }) => isMap(entryPoints));
  const routers = textAt(root, 'providers', 'file', 'filename');
  const points = at(root, 'entryPoints');
  if (routers === undefined || !isMap(points)) return undefined;
  const named = Object.keys(points);
  const marked = named.filter((name) => at(points, name, 'asDefault') === true);
  return {
    routers,
    usual: marked.length > 0 ? marked : named,
    middlewaresOf: (name) => listAt(points, name, 'http', 'middlewares').map(plainName),
  };
}
