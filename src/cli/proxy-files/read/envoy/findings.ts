/** What is wrong with the checks of a file of Envoy, and with what its routes change about them. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { at, textAt } from '../yaml-nodes.ts';
import type { PlacedMap } from '../yaml-places.ts';
import { checkFindings } from './check.ts';
import { checkOf, type EnvoyFile, type Filter, type Manager } from './config.ts';
import { isExactPath, isNarrow, routeName } from './match.ts';
import { type Setting, settingsOf } from './settings.ts';

export function envoyFindings(envoy: EnvoyFile): Diagnostic[] {
  const { placeOf } = envoy;
  return envoy.managers.flatMap((manager) => {
    const check = checkOf(manager, envoy);
    if (check === undefined) return [];
    const input = { manager, check, placeOf };
    return [
      ...checkFindings(input),
      ...everyLevel(manager).flatMap((level) => levelFindings(level, input)),
      ...oddSpellings(input),
    ];
  });
}

interface Input {
  readonly manager: Manager;
  readonly check: Filter;
  readonly placeOf: (map: PlacedMap) => string;
}

function everyLevel({ hosts }: Manager): PlacedMap[] {
  const owners = new Set(hosts.map(({ owner }) => owner));
  return [...owners, ...hosts.flatMap(({ map, routes }) => [map, ...routes])];
}

/** About a setting whose filter does not exist or exists twice, or with its own service. */
function levelFindings(level: PlacedMap, { manager, placeOf }: Input): Diagnostic[] {
  const namesakes = (name: string) => manager.filters.filter((each) => each.name === name);
  const place = placeOf(level);
  return settingsOf(level).flatMap(({ filter, isExtAuthz, hasService }) => {
    const others = namesakes(filter);
    if (isExtAuthz && others.length === 0)
      return [found('setting-without-filter', place, `no filter has the name ${filter}`)];
    if (others.length > 1)
      return [
        found('shared-filter-name', place, `${others.length} filters have the name ${filter}`),
      ];
    return hasService
      ? [found('service-of-route', place, `sets a service for ${filter} on its own`)]
      : [];
  });
}

/** Routes without the check, or with the policy that they name, that take all paths with a beginning. */
function oddSpellings({ manager, check, placeOf }: Input): Diagnostic[] {
  if (isNormalized(manager.map)) return [];
  return manager.hosts.flatMap((host) =>
    host.routes.flatMap((route) => {
      const { match } = route.value;
      const own = settingsOf(route).find(({ filter }) => filter === check.name);
      const effect = effectOf(own);
      if (effect === undefined || isExactPath(match) || !isNarrow(match)) return [];
      const problem = `${routeName(match)} ${effect}, and Envoy matches paths as they are written: /x/../login begins with /x/`;
      return [found('spelling-skips-check', placeOf(route), problem)];
    }),
  );
}

function effectOf(setting: Setting | undefined): string | undefined {
  if (setting?.isOff === true) return 'is not checked';
  return setting?.policy === undefined ? undefined : `counts by the policy ${setting.policy}`;
}

/** No dot segment is left, however it is written. */
function isNormalized({ value }: PlacedMap): boolean {
  const action = textAt(value, 'path_with_escaped_slashes_action');
  const isUnescaped = action !== undefined && !/^(KEEP|IMPL)/.test(action);
  return at(value, 'normalize_path') === true && isUnescaped;
}
