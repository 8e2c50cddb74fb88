import { addressOf } from '../addresses.ts';
import type { Route, Site } from '../unchecked-paths.ts';
import { at, isMap, listAt, mapsAt, textAt, type YamlMap } from '../yaml.ts';
import {
  clusterOf,
  type EnvoyFile,
  type Filter,
  filtersIn,
  isExtAuthz,
  type Manager,
} from './config.ts';
import { isCertain, isNarrow, isSwitchedOff, mayMatch, pathOf, routeName } from './route.ts';

export function envoyRoutes(envoy: EnvoyFile): Route[] {
  const isHeadgate = new Set(envoy.checks.map(({ config }) => clusterOf(config)));
  const targets = [
    ...envoy.managers.flatMap((manager) => managerTargets(manager, envoy)),
    ...envoy.tunnels.flatMap((tunnel) => {
      const what = `the TCP proxy ${textAt(tunnel, 'stat_prefix') ?? ''}`.trim();
      return uncheckedTargets([tunnel], what, envoy.placeOf(tunnel));
    }),
  ];
  return targets
    .filter(({ cluster }) => !isHeadgate.has(cluster))
    .map(({ cluster, ...route }) => {
      const known = envoy.endpoints.get(cluster) ?? [];
      // Names and addresses that another file has are a cluster's own.
      const servers =
        known.length > 0 ? known.map((each) => addressOf(each)) : [`the cluster ${cluster}`];
      return { ...route, servers };
    });
}

interface Target extends Omit<Route, 'servers'> {
  readonly cluster: string;
}

function managerTargets(manager: Manager, envoy: EnvoyFile): Target[] {
  const { map, what, routes, check } = manager;
  if (check === undefined && manager.isInternal) return [];
  if (check === undefined) return uncheckedTargets(actionsOf(routes), what, envoy.placeOf(map));
  return [
    ...routes.flatMap(({ map, match, action, levels }) =>
      clustersOf(action).flatMap(({ cluster, own }): Target[] => {
        const isOff = isSwitchedOff(check, own === undefined ? levels : [own, ...levels]);
        // Other findings are about routes for some paths.
        if (isOff && own === undefined && isNarrow(match)) return [];
        return [{ what: routeName(match), place: envoy.placeOf(map), cluster, isChecked: !isOff }];
      }),
    ),
    ...upgradeTargets(manager, envoy),
  ];
}

function actionsOf(routes: Manager['routes']): unknown[] {
  return routes.map(({ action }) => action);
}

function uncheckedTargets(actions: readonly unknown[], what: string, place: string): Target[] {
  const clusters = new Set(actions.flatMap(clustersOf).map(({ cluster }) => cluster));
  return [...clusters].map((cluster) => ({ what, place, cluster, isChecked: false }));
}

/** Finds upgrades whose own filters lack the check, and those through which a client can send more requests. */
function upgradeTargets({ upgrades, routes }: Manager, envoy: EnvoyFile): Target[] {
  const ofRoute = (action: unknown) => listAt(action, 'upgrade_configs').filter(isOn).map(typeOf);
  const used = new Set(actionsOf(routes).flatMap(ofRoute));
  const open = upgrades.filter((upgrade) => {
    const type = typeOf(upgrade);
    const own = listAt(upgrade, 'filters').length > 0;
    const isOpen = isTunnel(type) || (own && !hasCheck(upgrade, envoy.checks));
    return isOpen && (isOn(upgrade) || used.has(type));
  });
  return [
    ...open.flatMap((upgrade) =>
      uncheckedTargets(actionsOf(routes), `the upgrade ${typeOf(upgrade)}`, envoy.placeOf(upgrade)),
    ),
    ...routes.flatMap(({ map, action }) =>
      ofRoute(action)
        .filter(isTunnel)
        .flatMap((type) => uncheckedTargets([action], `the upgrade ${type}`, envoy.placeOf(map))),
    ),
  ];
}

function isOn(upgrade: unknown): boolean {
  return at(upgrade, 'enabled') !== false;
}

function hasCheck(upgrade: YamlMap, checks: readonly Filter[]): boolean {
  const clusters = checks.map(({ config }) => clusterOf(config));
  const own = filtersIn(mapsAt(upgrade, 'filters'));
  return own.some((filter) => isExtAuthz(filter) && clusters.includes(clusterOf(filter.config)));
}

function typeOf(upgrade: unknown): string {
  return textAt(upgrade, 'upgrade_type') ?? '';
}

function isTunnel(type: string): boolean {
  return type !== '' && type.toLowerCase() !== 'websocket';
}

/** Returns where a route or a proxy of TCP leads. A weighted cluster has its own settings. */
export function clustersOf(
  action: unknown,
): { readonly cluster: string; readonly own?: YamlMap }[] {
  const one = textAt(action, 'cluster');
  const weighted = mapsAt(action, 'weighted_clusters', 'clusters').flatMap((own) => {
    const cluster = textAt(own, 'name');
    return cluster === undefined ? [] : [{ cluster, own }];
  });
  return one === undefined ? weighted : [{ cluster: one }, ...weighted];
}

export function envoySites({ checked, placeOf }: EnvoyFile): Site[] {
  return checked.flatMap(({ hosts, check }) =>
    hosts.map(
      ({ names, routes }): Site => ({
        hosts: names,
        paths: routes.flatMap(({ match }) => pathOf(match) ?? []),
        choose(path) {
          const route = routes.find(({ match }) => mayMatch(match, path) !== false);
          if (route === undefined) return undefined;
          const { map, match, action, levels } = route;
          if (!isCertain(match) || !mayMatch(match, path)) return undefined;
          const isUnchecked = isMap(action) && isSwitchedOff(check, levels);
          return { what: routeName(match), place: placeOf(map), isUnchecked };
        },
      }),
    ),
  );
}
