/** Routes by the paths of the log, for a site without policies. */
import { canonicalPath } from '../../../gateway/core/path/path.ts';
import { type FoundPath, PathTree } from './path-tree.ts';
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
  const requests = [0];
  const count = (group: number) => {
    requests[group] = (requests[group] ?? 0) + 1;
    return group;
  };
  return {
    groupOf({ method: written, target }) {
      const { path, malformed } = canonicalPath(target, false);
      if (malformed) return undefined;
      const method = written === 'HEAD' ? 'GET' : written;
      const groups = METHODS.has(method) ? groupsOf(path, tree) : undefined;
      if (groups === undefined) return count(0);
      for (const [name, group] of groups) if (name === method) return count(group);
      groups.push([method, requests.length]);
      return count(requests.length);
    },
    routes() {
      const chosen = candidates(tree.paths(), requests);
      const ofGroup: number[][] = requests.map(() => [0]);
      const names = new Set([DEFAULT.name]);
      const routes = chosen.map(({ method, path, groups }, i) => {
        for (const group of groups) ofGroup[group] = [i + 1];
        return routeOf(method, path, names);
      });
      return { routes: [DEFAULT, ...routes], ofGroup };
    },
  };
}

/** Assets below one folder are one route. Those at the root belong to the default. */
function groupsOf(path: string, tree: PathTree) {
  if (!isAssetPath(path)) return tree.add(path);
  return path.indexOf('/', 1) === -1 ? undefined : tree.add(path, 1);
}

interface Candidate {
  readonly method: string;
  readonly path: string;
  readonly groups: readonly number[];
  readonly requests: number;
}

function candidates(paths: readonly FoundPath[], requests: readonly number[]): Candidate[] {
  const total = requests.reduce((sum, each) => sum + each, 0);
  const found = paths.flatMap(({ path, groups }) =>
    [...METHODS].map((method) => {
      const own = groups.filter(([name]) => name === method).map(([, group]) => group);
      const count = own.reduce((sum, group) => sum + (requests[group] ?? 0), 0);
      return { method, path, groups: own, requests: count };
    }),
  );
  const isLarge = ({ method, requests: own }: Candidate) =>
    own >= LEAST_REQUESTS && (method !== 'GET' || own >= LEAST_READING_SHARE * total);
  return found
    .filter(isLarge)
    .sort((a, b) => b.requests - a.requests || compare(a, b))
    .slice(0, MAX_ROUTES);
}

function compare(a: Candidate, b: Candidate): number {
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
