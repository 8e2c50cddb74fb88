/**
 * Which requests a proxy refuses while the gateway does not answer: those of policies with `on_gateway_failure: deny`.
 *
 * A proxy compares text, but an application may read one path in several ways. So a request passes only if its path is
 * clear, which means that all servers read it the same way. Requests with other paths are refused too, if they have a
 * method of those policies.
 */
import { pathRoutesOf } from '../../../gateway/config/policy-file/match.ts';
import type { PolicyEntry, ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { isHostWithin } from '../../../gateway/core/matching/host.ts';
import { type RouteMatch, routeOrder } from '../../../gateway/core/matching/matcher.ts';

/**
 * Regular expressions without anchors, for whole texts, ignoring case. Undefined: any text. They have no backslash,
 * quote, brace or space, and nothing that RE2 lacks, so every proxy can use them unchanged.
 */
export interface FailureRule {
  readonly refuses: boolean;
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly path: string | undefined;
}

export interface FailureRules {
  /** Requests with other methods pass. Undefined: none do. */
  readonly method: string | undefined;
  /** The first rule that matches decides. A request that no rule matches is refused. */
  readonly rules: readonly FailureRule[];
}

/** Dots are between other characters or begin a name. So no segment is `.` or `..`, and none ends with a dot. */
const IS_CLEAR = /^(\/[.]?[a-z0-9_~@=+,-]+([.][a-z0-9_~@=+,-]+)*)*\/?$/i;
const CLEAR_PATH = IS_CLEAR.source.slice(1, -1).replaceAll('\\/', '/');
const SEGMENT = CLEAR_PATH.slice('(/'.length, CLEAR_PATH.lastIndexOf(')*/?'));
const HOST_LABEL = '[a-z0-9_-]+';
const PORT = '(:[0-9]*)?';
const CLEAR_HOST = `(${HOST_LABEL}([.]${HOST_LABEL})*[.]?|[[][0-9a-f:.]+])${PORT}`;

type Policies = Pick<ValidFile, 'entries' | 'caseSensitive'>;

export function failureRulesOf({ entries, caseSensitive }: Policies): FailureRules | undefined {
  const routes = entries.flatMap(toRoutes).sort(byPrecedence);
  const refusing = routes.filter(({ refuses }) => refuses);
  if (refusing.length === 0) return undefined;
  const method = methodPattern(commonMethods(refusing));
  const rules = routes
    .filter((route, i) => route.refuses || routes.slice(i + 1).some((each) => hides(route, each)))
    // These rules ignore case. If case matters, /LOGIN must not pass because /login does.
    .filter(({ refuses }) => refuses || !caseSensitive)
    // Other paths have no clear spelling.
    .filter(
      ({ match: { path } }) => path === undefined || IS_CLEAR.test(path.replaceAll(WILD, '/x')),
    )
    .map(toRule)
    .map((rule) => (rule.method === method ? { ...rule, method: undefined } : rule));
  const host = rules.some((rule) => rule.host !== undefined) ? CLEAR_HOST : undefined;
  const clear: FailureRule = { refuses: false, method: undefined, host, path: CLEAR_PATH };
  return { method, rules: [...rules, clear] };
}

const WILD = /\/(:\w+|[*])/g;

type Route = ReturnType<typeof toRoutes>[number];

function toRoutes(entry: PolicyEntry) {
  return pathRoutesOf(entry, false).map(({ match }) => ({
    // A policy that is not enforced refuses no requests either if the gateway is down.
    refuses: entry.on_gateway_failure === 'deny' && entry.mode === 'enforce',
    always: entry.always,
    // A HEAD counts as a GET.
    match: { ...match, methods: match.methods?.map((each) => (each === 'HEAD' ? 'GET' : each)) },
  }));
}

/** The gateway's order: the most specific policy decides, and policies with `always` apply in addition. */
function byPrecedence(a: Route, b: Route): number {
  if (a.always !== b.always) return a.always ? -1 : 1;
  const [one, other] = [routeOrder(a.match), routeOrder(b.match)];
  if (one !== other) return one < other ? -1 : 1;
  return Number(b.refuses) - Number(a.refuses);
}

function hides(lax: Route, later: Route): boolean {
  return !lax.always && later.refuses && overlap(lax.match, later.match);
}

function overlap(a: RouteMatch, b: RouteMatch): boolean {
  const { methods } = b;
  const sharesMethod = !a.methods || !methods || a.methods.some((each) => methods.includes(each));
  return sharesMethod && hostsOverlap(a.host, b.host) && pathsOverlap(a.path, b.path);
}

function hostsOverlap(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return true;
  return isHostWithin(a, b) || isHostWithin(b, a);
}

function pathsOverlap(a = '/*', b = '/*'): boolean {
  const [left, right] = [a.split('/'), b.split('/')];
  for (let i = 1; ; i++) {
    const [one, other] = [left[i], right[i]];
    if (one === '*' || other === '*') return true;
    if (one === undefined || other === undefined) return one === other;
    const areNames = !one.startsWith(':') && !other.startsWith(':');
    if (areNames && one !== other) return false;
  }
}

function commonMethods(routes: readonly Route[]): readonly string[] | undefined {
  const methods = routes.map(({ match }) => match.methods);
  return methods.includes(undefined)
    ? undefined
    : [...new Set(methods.flatMap((each) => each ?? []))];
}

function toRule({ refuses, match: { methods, host, path } }: Route): FailureRule {
  return {
    refuses,
    method: methodPattern(methods),
    host: host && hostPattern(host),
    path: refuses ? path && refusedPaths(path) : passedPaths(path),
  };
}

function methodPattern(methods: readonly string[] | undefined): string | undefined {
  if (methods === undefined) return undefined;
  const names = methods.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each]));
  return names.length === 1 ? names.join() : `(${names.join('|')})`;
}

function hostPattern(host: string): string {
  const anyLabels = `${HOST_LABEL}([.]${HOST_LABEL})*`;
  const written = host.startsWith('*') ? anyLabels + literal(host.slice(1)) : literal(host);
  return `${written}[.]?${PORT}`;
}

/** Paths may end with a slash. A parameter may be empty, other than that of `/:id`. */
function refusedPaths(template: string): string {
  return `${pathPattern(template, '/[^/?]*', '(/[^?]*)?')}/?`;
}

/** Only clear paths pass. With a slash at the end, some applications serve another route. */
function passedPaths(template = '/*'): string {
  return pathPattern(template, `/${SEGMENT}`, `(/${SEGMENT})*`);
}

function pathPattern(template: string, parameter: string, rest: string): string {
  const segments = template.slice(1).split('/');
  const written = segments.map((each, i) => {
    if (each === '*') return rest;
    if (!each.startsWith(':')) return `/${literal(each)}`;
    return i === 0 ? `/${SEGMENT}` : parameter;
  });
  return written.join('');
}

function literal(text: string): string {
  return text.replaceAll(/[.+]/g, '[$&]');
}
