/** Which route of Envoy takes a request, and whether it switches the check off. */
import { readEnvoyFile } from './envoy-config.ts';
import { isCertain, mayMatch, pathOf, routeName } from './envoy-match.ts';
import { isSwitchedOff, levelsOf } from './envoy-settings.ts';
import { checkOf, checksOf } from './envoy-ways.ts';
import { hostsOf } from './path-policies.ts';
import type { Site } from './unchecked-paths.ts';
import { isMap, listAt } from './yaml-nodes.ts';

/** The virtual hosts of HTTP connection managers with the filter. */
export function envoySites(file: string, text: string): Site[] {
  const envoy = readEnvoyFile(file, text);
  const checks = checksOf(envoy);
  return envoy.managers.flatMap((manager) => {
    const filter = checkOf(manager, checks);
    if (filter === undefined) return [];
    return manager.hosts.map(
      (host): Site => ({
        hosts: hostsOf(listAt(host.map.value, 'domains').map(String)),
        paths: host.routes.flatMap(({ value }) => pathOf(value.match) ?? []),
        choose(path) {
          const route = host.routes.find(({ value }) => mayMatch(value.match, path) !== false);
          const match = route?.value.match;
          if (route === undefined || !isCertain(match) || !mayMatch(match, path)) return undefined;
          const isUnchecked =
            isMap(route.value.route) && isSwitchedOff(filter, levelsOf(route, host));
          return { what: routeName(match), place: envoy.placeOf(route), isUnchecked };
        },
      }),
    );
  });
}
