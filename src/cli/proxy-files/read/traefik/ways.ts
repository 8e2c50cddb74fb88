/** The ways of Traefik to applications: a router that leads to a service. */
import { addressOf } from '../addresses.ts';
import type { Route } from '../routes.ts';
import { at, isMap, listAt, mapsWith, textAt, type YamlMap } from '../yaml.ts';
import { isCheck, partsOf, plainName, type Router, type Routing, routersIn } from './sites.ts';
import type { TraefikStart } from './start.ts';

/** `start`: the file with which Traefik starts, if it is known. */
export function traefikWays(routing: Routing, start?: TraefikStart): Route[] {
  const maps = mapsWith(routing.yaml, 'routers');
  const isHttp = (map: YamlMap) => !hasAddresses(map);
  const http = maps.filter(isHttp).flatMap((map) => {
    const routers = routersIn(map, routing);
    const isAsked = routers.some(({ asks }) => asks);
    // If no router asks, the entry point does, which is in another file.
    const asksBefore = (router: Router) =>
      start === undefined ? !isAsked : entryPointsAsk(router, start, map);
    const all = routers.map((each) => ({ ...each, asks: each.asks || asksBefore(each) }));
    return waysIn(map, all);
  });
  const tcp = maps
    .filter((map) => !isHttp(map))
    .flatMap((map) => waysIn(map, routersIn(map, routing)))
    .map((way) => ({ ...way, isChecked: false, what: way.what.replace('the', 'the TCP') }));
  return [...http, ...tcp];
}

/** Whether each entry point of a router has a middleware that asks headgate. */
function entryPointsAsk(
  { entryPoints }: Router,
  { usual, middlewaresOf }: TraefikStart,
  http: unknown,
): boolean {
  const own = entryPoints === '' ? usual : entryPoints.split(',');
  return own.every((name) =>
    partsOf(middlewaresOf(name), http).some((each) => isCheck(each, http)),
  );
}

/** Services of TCP have `address` in place of `url`. */
function hasAddresses({ services }: YamlMap): boolean {
  return Object.values(isMap(services) ? services : {}).some((each) =>
    listAt(each, 'loadBalancer', 'servers').some((server) => textAt(server, 'address')),
  );
}

function waysIn(http: YamlMap, routers: readonly Router[]): Route[] {
  return routers.map(({ name, place, asks, service }) => ({
    what: `the router ${name}`,
    place,
    isChecked: asks,
    servers: serversOf(service, http),
  }));
}

/** The servers of a service, and of those that it is made of. A service of another provider stands for itself. */
export function serversOf(name: string, http: unknown): string[] {
  const servers = new Set<string>();
  const seen = new Set<string>();
  const open = [name];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const service = at(http, 'services', next);
    if (service === undefined && next.includes('@') && !next.endsWith('@internal'))
      servers.add(next);
    for (const server of listAt(service, 'loadBalancer', 'servers')) {
      const address = textAt(server, 'url') ?? textAt(server, 'address');
      if (address !== undefined) servers.add(addressOf(address));
    }
    const parts = [
      ...listAt(service, 'weighted', 'services').map((each) => textAt(each, 'name')),
      textAt(service, 'mirroring', 'service'),
      textAt(service, 'failover', 'service'),
      textAt(service, 'failover', 'fallback'),
    ];
    open.push(...parts.flatMap((each) => (each === undefined ? [] : plainName(each))));
  }
  return [...servers];
}
