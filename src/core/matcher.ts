/**
 * Finds the most specific of many routes, in time that does not grow with their number.
 *
 * Path decides first (static before `:param` before `*`, segment by segment), then host (named before `*.domain`
 * before any), then method (named before any). So one request never has two best routes unless they are written alike.
 */
import findMyWay from 'find-my-way';
import { canonicalHost } from './host.ts';

export interface RouteMatch {
  /** Upper-case methods; none means any. */
  readonly methods?: readonly string[] | undefined;
  /** `api.example.com` or `*.example.com`, lower case; none means any. */
  readonly host?: string | undefined;
  /** `/users/:id`, `/files/*`; none means any. In canonical form. */
  readonly path?: string | undefined;
}

export interface Route<T> extends RouteMatch {
  readonly value: T;
}

/** `path` must be canonical (see path.ts), `host` valid (see host.ts). */
export type Matcher<T> = (method: string, host: string, path: string) => T | undefined;

interface Candidate<T> {
  readonly value: T;
  /** Compares as a string: the smaller one is the more specific. */
  readonly order: string;
}

interface PathRoutes<T> {
  /** Paths without parameters: whichever of them a request names exactly is its most specific one. */
  readonly exact: ReadonlyMap<string, Candidate<T>>;
  readonly tree: ReturnType<typeof findMyWay>;
}

interface HostRoutes<T> {
  readonly byMethod: ReadonlyMap<string, PathRoutes<T>>;
  readonly anyMethod: PathRoutes<T>;
}

const ANY_HOST = '';

export function compileMatcher<T>(routes: readonly Route<T>[]): Matcher<T> {
  const hosts = new Map<string, HostRoutes<T>>();
  for (const host of new Set(routes.map((route) => route.host ?? ANY_HOST))) {
    hosts.set(host, compileHost(routes.filter((route) => (route.host ?? ANY_HOST) === host)));
  }
  const anyHost = hosts.get(ANY_HOST);
  const namesHosts = hosts.size > (anyHost === undefined ? 0 : 1);

  return (method, host, path) => {
    const counted = countedMethod(method);
    const literal = withoutSpecials(path);
    let best = anyHost && find(anyHost, counted, literal);
    if (namesHosts) {
      for (const name of hostNames(canonicalHost(host))) {
        const routesOfHost = hosts.get(name);
        const found = routesOfHost && find(routesOfHost, counted, literal);
        if (found && (best === undefined || found.order < best.order)) best = found;
      }
    }
    return best?.value;
  };
}

/** A HEAD does the work of a GET, so it counts as one. Some servers take `post` for POST. */
function countedMethod(method: string): string {
  const name = method.toUpperCase();
  return name === 'HEAD' ? 'GET' : name;
}

/** One for each method: routes that share one match the same requests, and no rule would choose between them. */
export function routeKeys({ methods = ['*'], host = '*', path }: RouteMatch): Set<string> {
  return new Set(methods.map((method) => `${countedMethod(method)} ${host} ${pathPattern(path)}`));
}

// find-my-way decodes and cuts at these. A canonical path is taken as it is, so characters that no server serves stand
// for them in its tree.
const SPECIAL = /[%?#]/;
const PERCENT = '\x11';
const QUESTION_MARK = '\x12';
const HASH = '\x13';

/** By patterns of one character, which V8 replaces at once: a bot may send nothing but percent signs. */
function withoutSpecials(path: string): string {
  if (!SPECIAL.test(path)) return path;
  return path.replace(/%/g, PERCENT).replace(/\?/g, QUESTION_MARK).replace(/#/g, HASH);
}

/** `path` is without specials. */
function find<T>(routes: HostRoutes<T>, method: string, path: string): Candidate<T> | undefined {
  const { exact, tree } = routes.byMethod.get(method) ?? routes.anyMethod;
  const named = exact.get(path);
  if (named !== undefined) return named;
  return (tree.find('GET', path)?.store as Candidate<T> | null | undefined) ?? undefined;
}

/** `a.b.c` may be routed by its own name, by `*.b.c` and by `*.c`. */
function* hostNames(host: string): Generator<string> {
  yield host;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    yield `*${host.slice(dot)}`;
  }
}

function compileHost<T>(routes: readonly Route<T>[]): HostRoutes<T> {
  const methods = new Set(routes.flatMap((route) => route.methods?.map(countedMethod) ?? []));
  const byMethod = new Map<string, PathRoutes<T>>();
  for (const method of methods) {
    byMethod.set(method, compilePaths(routes, method));
  }
  return { byMethod, anyMethod: compilePaths(routes, undefined) };
}

function compilePaths<T>(routes: readonly Route<T>[], method: string | undefined): PathRoutes<T> {
  const best = new Map<string, Candidate<T>>();
  for (const route of routes) {
    const named =
      method !== undefined && route.methods?.map(countedMethod).includes(method) === true;
    if (route.methods !== undefined && !named) continue;
    const pattern = pathPattern(route.path);
    // Canonical paths have no trailing slash, so `/files/*` is also asked for as `/files`.
    const patterns =
      pattern.endsWith('/*') && pattern !== '/*' ? [pattern, pattern.slice(0, -2)] : [pattern];
    for (const path of patterns) {
      const candidate = { value: route.value, order: orderOf(pattern, route.host, named) };
      const known = best.get(path);
      if (known === undefined || candidate.order < known.order) best.set(path, candidate);
    }
  }
  const tree = findMyWay({
    // Longer parameters would match nothing, and so fall to a laxer policy.
    maxParamLength: Number.MAX_SAFE_INTEGER,
    querystringParser: () => ({}),
  });
  // find-my-way lets a parameter be empty, so that `/:id` would take the root from `/*`.
  if (!best.has('/')) tree.on('GET', '/', () => undefined, best.get('/*'));
  const exact = new Map<string, Candidate<T>>();
  for (const [path, candidate] of best) {
    const literal = withoutSpecials(path);
    tree.on('GET', literal, () => undefined, candidate);
    if (!HAS_WILDCARD.test(path)) exact.set(literal.replaceAll('::', ':'), candidate);
  }
  return { exact, tree };
}

/** A parameter or a `*`, as pathPattern writes them. */
const HAS_WILDCARD = /\/(:p\d+|\*)(\/|$)/;

/** The path in find-my-way's spelling, with parameters renamed so that only their places count. */
function pathPattern(path = '/*'): string {
  const segments = path.split('/').map((segment, index) => {
    return segment.startsWith(':') ? `:p${index}` : segment.replaceAll(':', '::');
  });
  return segments.join('/');
}

/** Compares as a string: of two routes that match a request, the one with the smaller order decides. */
export function routeOrder({ methods, host, path }: RouteMatch): string {
  return orderOf(pathPattern(path), host, methods !== undefined);
}

/** Segment kinds, then host, then method, each spelled so that the more specific one sorts first. */
function orderOf(pattern: string, host: string | undefined, methodNamed: boolean): string {
  const kinds = pattern
    .slice(1)
    .split('/')
    .map((segment) => (segment === '*' ? 'w' : /^:p\d+$/.test(segment) ? 'p' : 'a'));
  return `${kinds.join('')} ${hostOrder(host)} ${methodNamed ? 0 : 1}`;
}

/** A host by its name, then longer wildcard domains before shorter ones, then any. Names have at most 253 characters. */
function hostOrder(host: string | undefined): string {
  if (host === undefined) return '999';
  return host.startsWith('*.') ? String(998 - host.length) : '000';
}
