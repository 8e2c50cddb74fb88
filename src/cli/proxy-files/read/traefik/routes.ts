import { addressOf } from '../addresses.ts';
import type { Route } from '../routes.ts';
import { at, isMap, listAt, mapsWith, textAt, type YamlMap } from '../yaml.ts';
import { isCheck, partsOf, plainName, type Router, type Routing, routersIn } from './sites.ts';
import type { TraefikStart } from './start.ts';

/** `start` is the file with which Traefik starts, if it is known. */
export function traefikRoutes(routing: Routing, start?: TraefikStart): Route[] {
  const [http, tcp] = [false, true].map((isTcp) =>
    mapsWith(routing.yaml, 'routers').filter((map) => hasAddresses(map) === isTcp),
  ) as [YamlMap[], YamlMap[]];
  return [
    ...http.flatMap((map) => {
      const routers = routersIn(map, routing);
      const isUnknown = start === undefined && !routers.some(({ isChecked }) => isChecked);
      return routers.map((router) => {
        const isChecked =
          isUnknown ||
          router.isChecked ||
          (start !== undefined && entryPointsCheck(router, start, map));
        return routeOf({ ...router, isChecked }, map);
      });
    }),
    ...tcp.flatMap((map) =>
      routersIn(map, routing).map((router) => {
        const route = routeOf({ ...router, isChecked: false }, map);
        return { ...route, what: `the TCP router ${router.name}` };
      }),
    ),
  ];
}

function entryPointsCheck(
  { entryPoints }: Router,
  { usual, middlewaresOf }: TraefikStart,
  http: unknown,
): boolean {
  const own = entryPoints === '' ? usual : entryPoints.split(',');
  return own.every((name) =>
    partsOf(middlewaresOf(name), http).some((each) => isCheck(each, http)),
  );
}

/** Servers of TCP have `address` in place of `url`. */
function hasAddresses({ services }: YamlMap): boolean {
  return Object.values(isMap(services) ? services : {}).some((each) =>
    listAt(each, 'loadBalancer', 'servers').some((server) => textAt(server, 'address')),
  );
}

function routeOf({ name, place, isChecked, service }: Router, http: YamlMap): Route {
  return { what: `the router ${name}`, place, isChecked, servers: serversOf(service, http) };
}

/** Follows the services that a service is made of. A service of another provider stands for itself. */
export function serversOf(name: string, http: unknown): string[] {
  const servers = new Set<string>();
  // A set goes on while it grows.
  const names = new Set([name]);
  for (const each of names) {
    const service = at(http, 'services', each);
    if (service === undefined && each.includes('@') && !each.endsWith('@internal'))
      servers.add(each);
    for (const server of listAt(service, 'loadBalancer', 'servers')) {
      const address = textAt(server, 'url') ?? textAt(server, 'address');
      if (address !== undefined) servers.add(addressOf(address));
    }
    const parts = [
      ...listAt(service, 'weighted', 'services').map((part) => textAt(part, 'name')),
      textAt(service, 'mirroring', 'service'),
      textAt(service, 'failover', 'service'),
      textAt(service, 'failover', 'fallback'),
    ];
    for (const part of parts) if (part !== undefined) names.add(plainName(part));
  }
  return [...servers];
}
