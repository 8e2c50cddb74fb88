/**
 * Finds the most specific route that matches a request, in time that does not grow with the number of routes.
 *
 * Path decides first (static before `:param` before `*`, segment by segment), then host (named before `*.domain` before
 * any), then method (named before any). Two routes can only tie if they match the same requests.
 */
import findMyWay from 'find-my-way';
import type { McpMatch } from '../mcp/mcp-calls.ts';
import { compilePathsAround, type PathsAround } from '../path/path-around.ts';
import { canonicalHost } from './host.ts';

export interface RouteMatch {
  /** Upper-case methods; undefined means any. */
  readonly methods?: readonly string[] | undefined;
  /** `api.example.com` or `*.example.com`, lower case; undefined means any. */
  readonly host?: string | undefined;
  /** `/users/:id`, `/files/*`, in canonical form; undefined means any. */
  readonly path?: string | undefined;
  /** Which calls to an MCP server; such a route has a path and the method POST. */
  readonly mcp?: McpMatch | undefined;
}

export interface Route<T> extends RouteMatch {
  readonly value: T;
}

export interface Matchable {
  readonly method: string;
  readonly host: string;
  readonly path: string;
}

interface Candidate<T> {
  readonly value: T;
  /** Compared as a string: the smaller one is more specific. */
  readonly order: string;
}

export interface Matcher<T> {
  (request: Matchable): T | undefined;
  /** The value with its order, to compare it with that of another matcher. */
  best(request: Matchable): Candidate<T> | undefined;
  /**
   * The paths of routes that paths with marks (undecodable.ts) may be, closest first. Undefined if it takes too long.
   */
  around(line: Omit<Matchable, 'path'>, paths: readonly string[]): readonly string[] | undefined;
}

const MAX_AROUND = 64;

/** `path` must be canonical (see path.ts), `host` valid (see host.ts). */
export function matchable(method: string, host: string, path: string): Matchable {
  return {
    method: countedMethod(method),
    host: canonicalHost(host),
    path: withoutSpecials(path),
  };
}

interface PathRoutes<T> {
  /** Paths without parameters. If a request has one of them exactly, no other route is more specific. */
  readonly exact: ReadonlyMap<string, Candidate<T>>;
  readonly tree: ReturnType<typeof findMyWay>;
  readonly around: PathsAround;
}

interface HostRoutes<T> {
  readonly byMethod: ReadonlyMap<string, PathRoutes<T>>;
  readonly anyMethod: PathRoutes<T>;
}

const ANY_HOST = '';

export function compileMatcher<T>(routes: readonly Route<T>[]): Matcher<T> {
  const byHost = Map.groupBy(routes, ({ host = ANY_HOST }) => host);
  const hosts = new Map([...byHost].map(([host, ofHost]) => [host, compileHost(ofHost)]));
  const anyHost = hosts.get(ANY_HOST);
  const namesHosts = hosts.size > (anyHost === undefined ? 0 : 1);

  const best: Matcher<T>['best'] = (request) => {
    let found = anyHost && find(anyHost, request);
    if (namesHosts) {
      for (const name of hostNames(request.host)) {
        const routesOfHost = hosts.get(name);
        const other = routesOfHost && find(routesOfHost, request);
        if (other && (found === undefined || other.order < found.order)) found = other;
      }
    }
    return found;
  };
  const around: Matcher<T>['around'] = ({ method, host }, paths) => {
    const fits = [ANY_HOST, ...hostNames(canonicalHost(host))].flatMap((name) => {
      const routesOfHost = hosts.get(name);
      return routesOfHost ? [pathsOf(routesOfHost, countedMethod(method)).around(paths)] : [];
    });
    if (!fits.every((each) => each !== undefined)) return undefined;
    const closest = fits.flat().sort((a, b) => a.filled - b.filled);
    return [...new Set(closest.map(({ path }) => path))].slice(0, MAX_AROUND);
  };
  return Object.assign((request: Matchable) => best(request)?.value, { best, around });
}

/** A HEAD does the work of a GET, so it counts as one. Some servers accept `post` as POST. */
function countedMethod(method: string): string {
  const name = method.toUpperCase();
  return name === 'HEAD' ? 'GET' : name;
}

/** One key for each method. Routes that share a key match the same requests, so neither is more specific. */
export function routeKeys({ methods = ['*'], mcp, ...where }: RouteMatch): Set<string> {
  // Paths may have blanks, and never have control characters.
  const call = mcp === undefined ? '' : `\n${mcp.method}\n${mcp.name ?? '*'}`;
  return new Set(methods.map((method) => `${countedMethod(method)} ${placeKey(where)}${call}`));
}

/** Routes that share a key match the same hosts and paths. */
export function placeKey({ host = '*', path }: Pick<RouteMatch, 'host' | 'path'>): string {
  return `${host} ${pathPattern(path)}`;
}

// find-my-way decodes or cuts paths at these characters. A canonical path must be matched as it is, so the tree has
// control characters in their place, which servers do not serve.
const SPECIAL = /[%?#]/;
const PERCENT = '\x11';
const QUESTION_MARK = '\x12';
const HASH = '\x13';

/** Three patterns of one character each, because V8 replaces those fastest. A bot may send nothing but percent signs. */
function withoutSpecials(path: string): string {
  if (!SPECIAL.test(path)) return path;
  return path.replace(/%/g, PERCENT).replace(/\?/g, QUESTION_MARK).replace(/#/g, HASH);
}

function find<T>(routes: HostRoutes<T>, { method, path }: Matchable): Candidate<T> | undefined {
  const { exact, tree } = pathsOf(routes, method);
  const named = exact.get(path);
  if (named !== undefined) return named;
  return (tree.find('GET', path)?.store as Candidate<T> | null | undefined) ?? undefined;
}

function pathsOf<T>(routes: HostRoutes<T>, method: string): PathRoutes<T> {
  return routes.byMethod.get(method) ?? routes.anyMethod;
}

/** Routes for `a.b.c` may name `a.b.c`, `*.b.c` or `*.c`. */
function* hostNames(host: string): Generator<string> {
  yield host;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    yield `*${host.slice(dot)}`;
  }
}

function compileHost<T>(routes: readonly Route<T>[]): HostRoutes<T> {
  const methods = new Set(routes.flatMap((route) => route.methods?.map(countedMethod) ?? []));
  const byMethod = new Map([...methods].map((name) => [name, compilePaths(routes, name)]));
  return { byMethod, anyMethod: compilePaths(routes, undefined) };
}

function compilePaths<T>(routes: readonly Route<T>[], method: string | undefined): PathRoutes<T> {
  const best = new Map<string, Candidate<T>>();
  for (const route of routes) {
    const named =
      method !== undefined && route.methods?.map(countedMethod).includes(method) === true;
    if (route.methods !== undefined && !named) continue;
    const pattern = pathPattern(route.path);
    // Canonical paths have no trailing slash, so `/files/*` must match `/files` too.
    const patterns =
      pattern.endsWith('/*') && pattern !== '/*' ? [pattern, pattern.slice(0, -2)] : [pattern];
    for (const path of patterns) {
      const candidate = { value: route.value, order: orderOf(pattern, route.host, named) };
      const known = best.get(path);
      if (known === undefined || candidate.order < known.order) best.set(path, candidate);
    }
  }
  const tree = findMyWay({
    // By default, long parameters match nothing, so the request would get a laxer policy.
    maxParamLength: Number.MAX_SAFE_INTEGER,
    querystringParser: () => ({}),
  });
  // In find-my-way a parameter may be empty, so `/:id` would match `/` before `/*` does.
  if (!best.has('/')) tree.on('GET', '/', () => undefined, best.get('/*'));
  const exact = new Map<string, Candidate<T>>();
  for (const [path, candidate] of best) {
    const literal = withoutSpecials(path);
    tree.on('GET', literal, () => undefined, candidate);
    if (!HAS_WILDCARD.test(path)) exact.set(literal.replaceAll('::', ':'), candidate);
  }
  return { exact, tree, around: compilePathsAround(best.keys()) };
}

/** A parameter or a `*`, in the spelling of `pathPattern`. */
const HAS_WILDCARD = /\/(:p\d+|\*)(\/|$)/;

/** The path in find-my-way's spelling. Parameters are renamed by their position, so their names do not matter. */
function pathPattern(path = '/*'): string {
  const segments = path.split('/').map((segment, index) => {
    return segment.startsWith(':') ? `:p${index}` : segment.replaceAll(':', '::');
  });
  return segments.join('/');
}

/** Compared as a string: if two routes match a request, the one with the smaller order applies. */
export function routeOrder({ methods, host, path }: RouteMatch): string {
  return orderOf(pathPattern(path), host, methods !== undefined);
}

function orderOf(pattern: string, host: string | undefined, methodNamed: boolean): string {
  const kinds = pattern
    .slice(1)
    .split('/')
    .map((segment) => (segment === '*' ? 'w' : /^:p\d+$/.test(segment) ? 'p' : 'a'));
  return `${kinds.join('')} ${hostOrder(host)} ${methodNamed ? 0 : 1}`;
}

/** Names have at most 253 characters. */
function hostOrder(host: string | undefined): string {
  if (host === undefined) return '999';
  return host.startsWith('*.') ? String(998 - host.length) : '000';
}
