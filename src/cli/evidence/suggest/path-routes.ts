/** Routes by the paths of the log, for a site without policies. */
import { canonicalPath } from '../../../gateway/core/path/path.ts';
import { NO_PATH } from './path-node.ts';
import { type PathPattern, patternsOf } from './path-patterns.ts';
import { PathTree } from './path-tree.ts';
import { isAssetPath } from './request-signs.ts';
import type { Route, RouteFinder } from './routes.ts';

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const DEFAULT: Route = { name: 'default', title: 'everything else', match: undefined, cost: 1 };
const MAX_ROUTES = 20;
const LEAST_REQUESTS = 300;
/** Routes that change something matter even if they are a smaller share of all requests. */
const LEAST_READING_SHARE = 0.005;
const MAX_NAME = 60;

export function findPathRoutes(): RouteFinder {
  const tree = new PathTree();
  return {
    groupOf({ method: written, target }, isRefused) {
      const { path, malformed } = canonicalPath(target, false);
      if (malformed) return undefined;
      const method = written === 'HEAD' ? 'GET' : written;
      if (!METHODS.has(method)) return NO_PATH;
      if (!isAssetPath(path)) return tree.groupOf(path, method, { isRefused });
      // Assets below one folder are one route. Those at the root belong to the default.
      if (path.indexOf('/', 1) === -1) return NO_PATH;
      return tree.groupOf(path, method, { depth: 1, isRefused });
    },
    routes(uses) {
      const { groups } = tree;
      groups.count(uses);
      const names = new Set([DEFAULT.name]);
      const routeOfGroup = new Map<number, number>();
      const routes = largestIn(tree, uses).map(({ method, path, group }, i) => {
        routeOfGroup.set(group, i + 1);
        return routeOf(method, path, names);
      });
      const ofGroup = Array.from({ length: groups.length }, (_, group) => [
        routeOfGroup.get(groups.current(group)) ?? 0,
      ]);
      return { routes: [DEFAULT, ...routes], ofGroup };
    },
    get dropped() {
      return tree.dropped;
    },
  };
}

function largestIn(tree: PathTree, uses: ArrayLike<number>): PathPattern[] {
  const leastReading = LEAST_READING_SHARE * Array.from(uses).reduce((sum, each) => sum + each, 0);
  const isLarge = (method: string, requests: number) =>
    requests >= LEAST_REQUESTS && (method !== 'GET' || requests >= leastReading);
  const usesOf = ({ group }: PathPattern) => tree.groups.usesOf(group);
  return patternsOf(tree, isLarge)
    .filter((each) => isLarge(each.method, usesOf(each)))
    .sort((a, b) => usesOf(b) - usesOf(a) || compare(a, b))
    .slice(0, MAX_ROUTES);
}

function compare(a: PathPattern, b: PathPattern): number {
  const [first, second] = [`${a.path} ${a.method}`, `${b.path} ${b.method}`];
  return first < second ? -1 : 1;
}

function routeOf(method: string, path: string, names: Set<string>): Route {
  const words = [method.toLowerCase(), ...(path.match(/[a-z0-9]+/g) ?? ['home'])];
  const base = words.join('-').slice(0, MAX_NAME);
  let name = base;
  for (let i = 2; names.has(name); i++) name = `${base}-${i}`;
  names.add(name);
  const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
  return { name, title: `${method} ${path}`, match: { methods, path }, cost: 1 };
}
