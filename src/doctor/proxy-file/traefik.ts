/** Reads a file of Traefik with routers, services and middlewares. */
import { type ProxyFacts, SECRET_HEADER } from './facts.ts';
import { at, isMap, listAt, textAt, type YamlMap, yamlMaps } from './yaml-nodes.ts';

export function traefikFacts(text: string): ProxyFacts | undefined {
  if (!text.includes('forwardAuth')) return undefined;
  const maps = yamlMaps(text);
  const check = maps.map((map) => map.forwardAuth).find(asksHeadgate);
  if (check === undefined) return undefined;
  const listed = listAt(check, 'authRequestHeaders').map((name) => String(name).toLowerCase());
  const set = maps.flatMap((map) => entriesOf(map.customRequestHeaders));
  const url = new URL(textAt(check, 'address') ?? '');
  const viaItself = maps.flatMap((map) => entriesOf(at(map.services, 'headgate', 'loadBalancer')));
  const servers = viaItself.flatMap(([name, list]) =>
    name === 'servers' && Array.isArray(list) ? list : [],
  );
  return {
    proxy: 'traefik',
    passed: listed.length === 0 ? 'all' : new Set(listed),
    owned: new Set(set.map(([name]) => name.toLowerCase())),
    secret: set
      .filter(([name]) => name.toLowerCase() === SECRET_HEADER)
      .map(([, value]) => String(value))
      .find((value) => value !== ''),
    gateways:
      servers.length === 0
        ? [url.host]
        : servers.flatMap((server) => textAt(server, 'url')?.replace(/^https?:\/\//, '') ?? []),
    losesDenials: false,
    // Without the second way through Traefik, ForwardAuth refuses.
    refusesAll: !maps.some((map) => isMap(map.failover)),
  };
}

/** Whether a `forwardAuth` is the check of headgate. */
export function asksHeadgate(forwardAuth: unknown): boolean {
  return /\/traefik\/?$/.test(textAt(forwardAuth, 'address') ?? '');
}

function entriesOf(value: unknown): [string, unknown][] {
  return isMap(value) ? Object.entries(value as YamlMap) : [];
}
