/** Which route of Envoy takes a request, and whether it switches the check off. */
import { EXT_AUTHZ } from './envoy.ts';
import { matchesExpression } from './expression.ts';
import { hostsOf, type Site } from './unchecked-paths.ts';
import { at, isMap, listAt, textAt } from './yaml-nodes.ts';
import { type PlacedMap, placedYaml } from './yaml-places.ts';

/** Conditions of a route on the path. With others, the route may not take a request. */
const PATH_KEYS = ['prefix', 'path', 'path_separated_prefix', 'safe_regex'];

/** The virtual hosts of HTTP connection managers with the filter. */
export function envoySites(file: string, text: string): Site[] {
  const yaml = placedYaml(text);
  return yaml.with('http_filters').flatMap((manager) => {
    const filter = listAt(manager.value, 'http_filters').find(
      (each) => textAt(each, 'typed_config', '@type') === EXT_AUTHZ,
    );
    if (filter === undefined) return [];
    const name = textAt(filter, 'name') ?? '';
    const switchedOff = (map: PlacedMap) => isSwitchedOff(map, name);
    return yaml.list(manager, 'route_config', 'virtual_hosts').map((host): Site => {
      const routes = yaml.list(host, 'routes');
      return {
        hosts: hostsOf(listAt(host.value, 'domains').map(String)),
        paths: routes.flatMap(({ value }) => pathOf(value.match) ?? []),
        choose(path) {
          const route = routes.find(({ value }) => mayMatch(value.match, path) !== false);
          const match = route?.value.match;
          if (route === undefined || !isCertain(match) || !mayMatch(match, path)) return undefined;
          const isUnchecked =
            isMap(route.value.route) && (switchedOff(route) ?? switchedOff(host) ?? false);
          const what = `the route for ${pathOf(route.value.match) ?? 'this expression'}`;
          return { what, place: `${file}:${route.line}`, isUnchecked };
        },
      };
    });
  });
}

/** Undefined if the map does not say. */
function isSwitchedOff({ value }: PlacedMap, filter: string): boolean | undefined {
  const own = at(value, 'typed_per_filter_config');
  if (!isMap(own)) return undefined;
  const settings = Object.entries(own).filter(
    ([name, each]) => name === filter || textAt(each, '@type')?.endsWith('.ExtAuthzPerRoute'),
  );
  return settings.length === 0
    ? undefined
    : settings.some(([, each]) => at(each, 'disabled') === true);
}

function isCertain(match: unknown): boolean {
  return isMap(match) && Object.keys(match).every((key) => PATH_KEYS.includes(key));
}

function pathOf(match: unknown): string | undefined {
  return textAt(match, 'prefix') ?? textAt(match, 'path') ?? textAt(match, 'path_separated_prefix');
}

/** True also for other conditions. Undefined if the expression may match. */
function mayMatch(match: unknown, path: string): boolean | undefined {
  const [prefix, exact] = [textAt(match, 'prefix'), textAt(match, 'path')];
  if (at(match, 'case_sensitive') !== undefined) return true;
  if (prefix !== undefined) return path.startsWith(prefix);
  if (exact !== undefined) return path === exact;
  const folder = textAt(match, 'path_separated_prefix');
  if (folder !== undefined) return path === folder || path.startsWith(`${folder}/`);
  const expression = textAt(match, 'safe_regex', 'regex');
  if (expression === undefined) return true;
  return matchesExpression(`^${expression}$`, { path, ignoresCase: false });
}
