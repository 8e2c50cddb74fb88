import type { Route, Site } from '../unchecked-paths.ts';
import { at, isMap, listAt, mapsWith, textAt } from '../yaml.ts';
import {
  byPriority,
  isCheck,
  partsOf,
  plainName,
  type Router,
  type Routing,
  takes,
} from './routers.ts';

export function traefikSites(routings: readonly Routing[]): Site[] {
  return routings.flatMap(({ routers }) => {
    const checked = routers.filter(({ isChecked }) => isChecked);
    return [...new Set(checked.map(({ entryPoints }) => entryPoints))].flatMap((entryPoints) => {
      const own = routers.filter((each) => each.entryPoints === entryPoints);
      const hosts = new Set(own.map(({ rule }) => rule?.host));
      return [...hosts].map((host) => siteOf(host, own));
    });
  });
}

function siteOf(host: string | undefined, all: readonly Router[]): Site {
  const routers = all
    .filter(({ rule }) => rule === undefined || rule.host === undefined || rule.host === host)
    .sort(byPriority);
  return {
    hosts: host === undefined ? undefined : [host],
    paths: routers.flatMap(({ rule }) => (rule?.paths ?? []).map((each) => each.replace('*', ''))),
    choose(path) {
      const router = routers.find(({ rule }) => rule === undefined || takes(rule, path));
      if (router?.rule === undefined) return undefined;
      const { name, place, isChecked } = router;
      return { what: `the router ${name}`, place, isUnchecked: !isChecked };
    },
  };
}

/** The file with which Traefik starts. */
export type TraefikStart = NonNullable<ReturnType<typeof traefikStart>>;

/** Returns undefined for another file, or without a file of routers. */
export function traefikStart(yaml: unknown) {
  const root = mapsWith(yaml, 'entryPoints').find(({ entryPoints }) => isMap(entryPoints));
  const routers = textAt(root, 'providers', 'file', 'filename');
  const points = at(root, 'entryPoints');
  if (routers === undefined || !isMap(points)) return undefined;
  const named = Object.keys(points);
  const marked = named.filter((name) => at(points, name, 'asDefault') === true);
  return {
    /** The name of the file with the routers. */
    routers,
    usual: marked.length > 0 ? marked : named,
    middlewaresOf: (entryPoint: string) =>
      listAt(points, entryPoint, 'http', 'middlewares').map(plainName),
  };
}

export function traefikRoutes(routings: readonly Routing[], start?: TraefikStart): Route[] {
  const routesOf = (routing: Routing, isTcp: boolean) =>
    routing.routers.map((router) => ({
      what: `the ${isTcp ? 'TCP router' : 'router'} ${router.name}`,
      place: router.place,
      servers: router.servers,
      isChecked: !isTcp && (router.isChecked || entryPointsCheck(router, routing, start)),
    }));
  return [false, true].flatMap((isTcp) =>
    routings
      .filter((each) => hasAddresses(each) === isTcp)
      .flatMap((routing) => routesOf(routing, isTcp)),
  );
}

/** Without the file with the entry points, those check requests unless a router does. */
function entryPointsCheck(
  { entryPoints }: Router,
  { section, routers }: Routing,
  start: TraefikStart | undefined,
): boolean {
  if (start === undefined) return !routers.some(({ isChecked }) => isChecked);
  const own = entryPoints === '' ? start.usual : entryPoints.split(',');
  return own.every((name) =>
    partsOf(start.middlewaresOf(name), section).some((each) => isCheck(each, section)),
  );
}

/** Servers of TCP have `address` in place of `url`. */
function hasAddresses({ section: { services } }: Routing): boolean {
  return Object.values(isMap(services) ? services : {}).some((each) =>
    listAt(each, 'loadBalancer', 'servers').some((server) => textAt(server, 'address')),
  );
}
