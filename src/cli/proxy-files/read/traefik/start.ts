/** Reads the file with which Traefik starts: where its routers are, and the middlewares of its entry points. */
import { at, isMap, listAt, mapsWith, textAt } from '../yaml.ts';
import { plainName } from './sites.ts';

export interface TraefikStart {
  /** The file with the routers. */
  readonly routers: string;
  /** The entry points of routers that name none. */
  readonly usual: readonly string[];
  /** The names of the middlewares of an entry point, without that of their provider. */
  middlewaresOf(entryPoint: string): readonly string[];
}

/** Undefined if it is another file, or names no file with routers. */
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
