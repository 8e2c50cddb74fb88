/** The ways of Traefik to applications: a router that leads to a service. */
import { namesOfApplications } from './applications.ts';
import { withoutTemplates } from './traefik.ts';
import { plainName, type Router, routersIn } from './traefik-sites.ts';
import type { Way } from './ways.ts';
import { at, isMap, listAt, textAt } from './yaml-nodes.ts';
import { type PlacedMap, placedYaml } from './yaml-places.ts';

export function traefikWays(file: string, text: string): Way[] {
  const yaml = placedYaml(withoutTemplates(text));
  const maps = yaml.with('routers');
  const isHttp = (map: PlacedMap) => !hasAddresses(map);
  const http = maps.filter(isHttp).flatMap((map) => waysIn(map, routersIn(yaml, map, file)));
  const isAsked = http.some(({ isChecked }) => isChecked);
  const tcp = maps
    .filter((map) => !isHttp(map))
    .flatMap((map) => waysIn(map, routersIn(yaml, map, file)));
  const ways = [
    // If no router asks, the entry point does, which is in another file.
    ...http.map((way) => ({ ...way, isChecked: way.isChecked || !isAsked })),
    ...tcp.map((way) => ({ ...way, isChecked: false, what: way.what.replace('the', 'the TCP') })),
  ];
  const nameOf = namesOfApplications(ways.map(({ servers }) => servers));
  return ways.flatMap(({ servers, ...way }) => {
    const upstream = nameOf(servers[0]);
    return upstream === undefined ? [] : [{ ...way, upstream }];
  });
}

/** Services of TCP have `address` in place of `url`. */
function hasAddresses({ value }: PlacedMap): boolean {
  const services = isMap(value.services) ? Object.values(value.services) : [];
  return services.some((each) =>
    listAt(each, 'loadBalancer', 'servers').some((server) => textAt(server, 'address')),
  );
}

interface WayToServers extends Omit<Way, 'upstream'> {
  readonly servers: readonly string[];
}

function waysIn({ value }: PlacedMap, routers: readonly Router[]): WayToServers[] {
  return routers.map(({ name, place, asks, service }) => ({
    what: `the router ${name}`,
    place,
    isChecked: asks,
    servers: serversOf(service, value),
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

function addressOf(written: string): string {
  return written
    .toLowerCase()
    .replace(/^[a-z0-9]+:\/\//, '')
    .replace(/\/.*$/, '')
    .replace(/^localhost:/, '127.0.0.1:');
}
