/** Which route of Envoy takes a request, and whether it switches the check off. */

import { hostsOf } from '../path-policies.ts';
import type { Site } from '../unchecked-paths.ts';
import { isMap, listAt } from '../yaml-nodes.ts';
import { checkOf, type EnvoyFile } from './config.ts';
import { isCertain, mayMatch, pathOf, routeName } from './match.ts';
import { isSwitchedOff, levelsOf } from './settings.ts';

/** The virtual hosts of HTTP connection managers with the filter. */
export function envoySites(envoy: EnvoyFile): Site[] {
  return envoy.managers.flatMap((manager) => {
    const filter = checkOf(manager, envoy);
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
