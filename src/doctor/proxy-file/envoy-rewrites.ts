/** Routes of Envoy that change the path after the check, and the policies that do not apply then. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import { sendsRequestId } from './envoy-check.ts';
import type { Filter, Manager, VirtualHost } from './envoy-config.ts';
import { isCertain, isExactPath, mayMatch, pathOf, routeName } from './envoy-match.ts';
import { levelsOf, settingsOf } from './envoy-settings.ts';
import { clustersOf } from './envoy-ways.ts';
import type { Rewrite } from './rewrites.ts';
import { hostsOf, pathPolicies } from './unchecked-paths.ts';
import { at, listAt, textAt } from './yaml-nodes.ts';
import type { PlacedMap } from './yaml-places.ts';

interface Input {
  readonly manager: Manager;
  readonly check: Filter;
  readonly placeOf: (map: PlacedMap) => string;
  readonly policies: ValidFile;
}

export function envoyRewrites({ manager, check, placeOf, policies }: Input): Rewrite[] {
  return manager.hosts.flatMap((host) => {
    const { named, appliesTo } = pathPolicies(policies, {
      hosts: hostsOf(listAt(host.map.value, 'domains').map(String)),
    });
    const namesPolicy = (route: PlacedMap) =>
      levelsOf(route, host).some((level) =>
        settingsOf(level).some(
          ({ filter, policy }) => filter === check.name && policy !== undefined,
        ),
      );
    const everyPolicy = named.map(({ name }) => name);
    return host.routes.flatMap((route) => {
      const name = routeName(route.value.match);
      if (isRedirecting(route) && everyPolicy.length > 0 && sendsRequestId(manager, check)) {
        const what = `internal_redirect_policy of ${name}`;
        return [{ what, place: placeOf(route), policies: everyPolicy }];
      }
      const rewriting = rewritingOf(route);
      if (rewriting === undefined || namesPolicy(route)) return [];
      const avoided = named.filter(({ name: policy, paths }) =>
        paths.some((path) => {
          if (!begins(path, rewriting.head) || !isServedAsItIs(path, { route, host })) return false;
          const sent = sentPath(path, route, rewriting);
          return sent === undefined || (sent !== path && !appliesTo(sent, policy));
        }),
      );
      if (avoided.length === 0) return [];
      const what = `${rewriting.key} of ${name}`;
      return [{ what, place: placeOf(route), policies: avoided.map(({ name }) => name) }];
    });
  });
}

/** Policies ignore case unless the file says otherwise. */
function begins(path: string, head: string): boolean {
  return path.toLowerCase().startsWith(head.toLowerCase());
}

/** Envoy follows redirects of the application. With one request id, headgate decides once. */
function isRedirecting({ value }: PlacedMap): boolean {
  return at(value, 'route', 'internal_redirect_policy') !== undefined;
}

interface Rewriting {
  readonly key: string;
  /** What each new path begins with. */
  readonly head: string;
}

/** The forms in which a route writes the new path. */
const FORMS: readonly (readonly [key: string, ...path: string[]])[] = [
  ['regex_rewrite', 'regex_rewrite', 'substitution'],
  ['path_rewrite', 'path_rewrite'],
  ['path_rewrite_policy', 'path_rewrite_policy', 'typed_config', 'path_template_rewrite'],
];
/** Where the variable part of a new path begins: `\1`, `%REQ(a)%` or `{name}`. */
const VARIABLE = /[\\%{]/;

function rewritingOf({ value }: PlacedMap): Rewriting | undefined {
  const action = at(value, 'route');
  const prefix = textAt(action, 'prefix_rewrite');
  if (prefix !== undefined) return { key: 'prefix_rewrite', head: prefix };
  for (const [key, ...path] of FORMS) {
    const written = textAt(action, ...path);
    if (written !== undefined) return { key, head: written.split(VARIABLE, 1)[0] ?? '' };
  }
  return undefined;
}

/** The path that a client sends to get the new one; undefined if the file does not say. */
function sentPath(
  path: string,
  { value }: PlacedMap,
  { key, head }: Rewriting,
): string | undefined {
  const own = pathOf(value.match);
  if (own === undefined || key !== 'prefix_rewrite') return undefined;
  if (!isExactPath(value.match)) return own + path.slice(head.length);
  return path === head ? own : path;
}

/**
 * Whether the application also gets this path from clients that send it, or no client can send it. Otherwise the policy
 * is for a path of another application, or for one that this route rewrites, as it should be.
 */
function isServedAsItIs(path: string, { route, host }: { route: PlacedMap; host: VirtualHost }) {
  const own = host.routes.find(
    ({ value }) => isCertain(value.match) && mayMatch(value.match, path),
  );
  if (own === undefined) return true;
  if (rewritingOf(own) !== undefined) return false;
  const clusters = (map: PlacedMap) =>
    clustersOf(at(map.value, 'route')).map(({ cluster }) => cluster);
  return clusters(own).some((cluster) => clusters(route).includes(cluster));
}
