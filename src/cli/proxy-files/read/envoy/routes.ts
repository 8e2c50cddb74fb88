/** Where a file of Envoy passes requests on, and which routes switch the check off. */
import { addressOf } from '../addresses.ts';
import { hostsOf } from '../path-policies.ts';
import type { Route } from '../routes.ts';
import type { Site } from '../unchecked-paths.ts';
import { at, isMap, listAt, mapsAt, textAt, type YamlMap } from '../yaml.ts';
import {
  askedCluster,
  checkOf,
  type EnvoyFile,
  type Filter,
  filtersIn,
  isExtAuthz,
  type Manager,
} from './config.ts';
import {
  isCertain,
  isNarrow,
  isSwitchedOff,
  levelsOf,
  mayMatch,
  pathOf,
  routeName,
} from './route.ts';

export function envoyRoutes(envoy: EnvoyFile): Route[] {
  const { checks } = envoy;
  const isHeadgate = new Set(checks.map(({ config }) => askedCluster(config)));
  const targets = [
    ...envoy.managers.flatMap((manager) => managerTargets(manager, envoy)),
    ...envoy.tunnels.flatMap((tunnel) =>
      clustersOf(tunnel).map(({ cluster }) => ({
        what: `the TCP proxy ${textAt(tunnel, 'stat_prefix') ?? ''}`.trim(),
        place: envoy.placeOf(tunnel),
        cluster,
        isChecked: false,
      })),
    ),
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
  const check = checkOf(manager, envoy);
  if (check === undefined && manager.isInternal) return [];
  if (check === undefined) return wholeTargets(manager, manager.map, { envoy, what: manager.what });
  return [
    ...manager.hosts.flatMap((host) =>
      host.routes.flatMap((route) => {
        const levels = levelsOf(route, host);
        return clustersOf(route.route).flatMap(({ cluster, own }): Target[] => {
          const isOff = isSwitchedOff(check, own === undefined ? levels : [own, ...levels]);
          // Other findings are about routes for some paths.
          if (isOff && own === undefined && isNarrow(route.match)) return [];
          const what = routeName(route.match);
          return [{ what, place: envoy.placeOf(route), cluster, isChecked: !isOff }];
        });
      }),
    ),
    ...upgradeTargets(manager, envoy),
  ];
}

function wholeTargets(
  { hosts }: Manager,
  map: YamlMap,
  { envoy, what }: { envoy: EnvoyFile; what: string },
): Target[] {
  const routes = hosts.flatMap((host) => host.routes);
  const clusters = routes.flatMap(({ route }) => clustersOf(route));
  return [...new Set(clusters.map(({ cluster }) => cluster))].map((cluster) => ({
    what,
    place: envoy.placeOf(map),
    cluster,
    isChecked: false,
  }));
}

/** Upgrades whose own filters lack the check, and those through which a client can send more requests. */
function upgradeTargets(manager: Manager, envoy: EnvoyFile): Target[] {
  const routes = manager.hosts.flatMap((host) => host.routes);
  const ofRoutes = routes.flatMap((route) => listAt(route, 'route', 'upgrade_configs'));
  const isOn = (upgrade: unknown) => at(upgrade, 'enabled') !== false;
  const open = manager.upgrades.flatMap((upgrade) => {
    const type = typeOf(upgrade);
    const isUsed = isOn(upgrade) || ofRoutes.some((each) => typeOf(each) === type && isOn(each));
    const own = listAt(upgrade, 'filters').length > 0;
    const isOpen = isTunnel(type) || (own && !hasCheck(upgrade, envoy.checks));
    return isUsed && isOpen
      ? wholeTargets(manager, upgrade, { envoy, what: `the upgrade ${type}` })
      : [];
  });
  const tunnels = routes.flatMap((route) => {
    const types = listAt(route, 'route', 'upgrade_configs').filter(isOn).map(typeOf);
    return types.filter(isTunnel).flatMap((type) =>
      clustersOf(route.route).map(({ cluster }) => ({
        what: `the upgrade ${type}`,
        place: envoy.placeOf(route),
        cluster,
        isChecked: false,
      })),
    );
  });
  return [...open, ...tunnels];
}

function hasCheck(upgrade: YamlMap, checks: readonly Filter[]): boolean {
  const clusters = checks.map(({ config }) => askedCluster(config));
  const own = filtersIn(mapsAt(upgrade, 'filters'));
  return own.some((filter) => isExtAuthz(filter) && clusters.includes(askedCluster(filter.config)));
}

function typeOf(upgrade: unknown): string {
  return textAt(upgrade, 'upgrade_type') ?? '';
}

function isTunnel(type: string): boolean {
  return type !== '' && type.toLowerCase() !== 'websocket';
}

/** Where a route or a proxy of TCP leads, with what a weighted cluster says itself. */
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

/** The virtual hosts of HTTP connection managers with the filter. */
export function envoySites(envoy: EnvoyFile): Site[] {
  return envoy.managers.flatMap((manager) => {
    const filter = checkOf(manager, envoy);
    if (filter === undefined) return [];
    return manager.hosts.map(
      (host): Site => ({
        hosts: hostsOf(listAt(host.map, 'domains').map(String)),
        paths: host.routes.flatMap(({ match }) => pathOf(match) ?? []),
        choose(path) {
          const route = host.routes.find(({ match }) => mayMatch(match, path) !== false);
          const match = route?.match;
          if (route === undefined || !isCertain(match) || !mayMatch(match, path)) return undefined;
          const isUnchecked = isMap(route.route) && isSwitchedOff(filter, levelsOf(route, host));
          return { what: routeName(match), place: envoy.placeOf(route), isUnchecked };
        },
      }),
    );
  });
}
