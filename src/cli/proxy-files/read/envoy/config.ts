import { hostsOf } from '../path-policies.ts';
import {
  at,
  isMap,
  lineOf,
  listAt,
  mapsAt,
  mapsWith,
  textAt,
  type YamlMap,
  yamlDocument,
} from '../yaml.ts';

type Endpoints = ReadonlyMap<string, readonly string[]>;

export type EnvoyFile = ReturnType<typeof readEnvoyFile>;

export interface Manager {
  readonly map: YamlMap;
  readonly what: string;
  readonly check: Filter | undefined;
  /** Only listeners of the same Envoy connect to it. */
  readonly isInternal: boolean;
  /** Filters of the connection can write metadata, too. */
  readonly hasConnectionFilters: boolean;
  readonly filters: readonly Filter[];
  readonly upgrades: readonly YamlMap[];
  readonly hosts: readonly VirtualHost[];
  readonly routes: readonly EnvoyRoute[];
}

export interface CheckedManager extends Manager {
  readonly check: Filter;
}

export interface Filter {
  readonly map: YamlMap;
  readonly name: string;
  /** If a matcher decides whether a filter runs, this is the configuration of that filter. */
  readonly config: unknown;
  readonly isConditional: boolean;
}

export type VirtualHost = ReturnType<typeof hostOf>;

export interface EnvoyRoute {
  readonly map: YamlMap;
  readonly match: unknown;
  readonly action: unknown;
  /** Maps with settings for filters, the most specific first. */
  readonly levels: readonly YamlMap[];
}

const EXT_AUTHZ = 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz';

/** Throws a RangeError with the place if the text is not YAML. */
export function readEnvoyFile(file: string, text: string) {
  const yaml = yamlDocument(withProtoNames(text));
  const listeners = listenersOfManagers(yaml);
  const all = mapsWith(yaml, 'http_filters').map((map) => managerOf(map, listeners.get(map)));
  /** The keys are names of clusters, and the values `127.0.0.1:3000` or `unix:/run/app.sock`. */
  const endpoints: Endpoints = new Map(
    mapsWith(yaml, 'load_assignment').map((cluster) => [
      String(cluster.name),
      endpointsOf(cluster),
    ]),
  );
  const checks = headgateFilters(
    all.flatMap(({ filters }) => filters.filter(isExtAuthz)),
    endpoints,
  );
  const managers = all.map(
    (manager): Manager => ({
      ...manager,
      check: manager.filters.find(({ config }) => checks.some((each) => each.config === config)),
    }),
  );
  return {
    managers,
    /** Those of the managers that ask headgate. */
    checked: managers.filter((each): each is CheckedManager => each.check !== undefined),
    tunnels: mapsWith(yaml, '@type').filter((each) =>
      /\.tcp_proxy\.v\w+\.TcpProxy$/.test(String(each['@type'])),
    ),
    endpoints,
    placeOf: (map: YamlMap) => `${file}:${lineOf(map)}`,
    extAuthz: filtersIn(mapsWith(yaml, 'typed_config')).filter(isExtAuthz),
    checks,
  };
}

/** Those that run before the check of headgate. */
export function filtersBefore({ filters, check }: Manager): readonly Filter[] {
  return filters.slice(
    0,
    filters.findIndex(({ config }) => config === check?.config),
  );
}

export function isExtAuthz({ config }: Filter): boolean {
  return textAt(config, '@type') === EXT_AUTHZ;
}

/** Returns the filters of headgate. They need a mark only if a file has several services. */
export function headgateFilters(
  filters: readonly Filter[],
  endpoints: Endpoints,
): readonly Filter[] {
  const marked = filters.filter((filter) => isMarked(filter, endpoints));
  if (marked.length > 0) return marked;
  const [first] = filters;
  return filters.filter(({ config }) => clusterOf(config) === clusterOf(first?.config));
}

/** The mark is headgate's name in the filter or in an address, or its path. */
function isMarked({ name, config }: Filter, endpoints: Endpoints): boolean {
  const addresses = endpoints.get(clusterOf(config) ?? '') ?? [];
  const texts = [name, JSON.stringify(config), ...addresses];
  const prefix = textAt(config, 'http_service', 'path_prefix');
  return prefix === '/envoy' || texts.some((each) => /headgate/i.test(each));
}

export function clusterOf(config: unknown): string | undefined {
  return (
    textAt(config, 'http_service', 'server_uri', 'cluster') ??
    textAt(config, 'grpc_service', 'envoy_grpc', 'cluster_name') ??
    textAt(config, 'grpc_service', 'google_grpc', 'target_uri')
  );
}

function listenersOfManagers(yaml: unknown): ReadonlyMap<YamlMap, YamlMap> {
  const found = new Map<YamlMap, YamlMap>();
  for (const key of ['filter_chains', 'default_filter_chain'])
    for (const listener of mapsWith(yaml, key))
      for (const manager of mapsWith(listener, 'http_filters'))
        if (!found.has(manager)) found.set(manager, listener);
  return found;
}

function managerOf(map: YamlMap, listener: YamlMap | undefined): Omit<Manager, 'check'> {
  const name = textAt(listener, 'name') ?? textAt(map, 'stat_prefix') ?? 'without name';
  const scopes = mapsAt(
    map,
    ...['scoped_routes', 'scoped_route_configurations_list', 'scoped_route_configurations'],
  );
  const owners = [map.route_config, ...scopes.map((scope) => scope.route_configuration)];
  const hosts = owners
    .filter(isMap)
    .flatMap((owner) => mapsAt(owner, 'virtual_hosts').map((host) => hostOf(host, owner)));
  return {
    map,
    what: `the listener ${name}`,
    isInternal: at(listener, 'internal_listener') !== undefined,
    hasConnectionFilters:
      listAt(listener, 'listener_filters').length > 0 ||
      [...listAt(listener, 'filter_chains'), at(listener, 'default_filter_chain')].some(
        (chain) => listAt(chain, 'filters').length > 1,
      ),
    filters: filtersIn(mapsAt(map, 'http_filters')),
    upgrades: mapsAt(map, 'upgrade_configs'),
    hosts,
    routes: hosts.flatMap(({ routes }) => routes),
  };
}

function hostOf(host: YamlMap, owner: YamlMap) {
  // A matcher has routes as actions.
  const matched = mapsWith(host.matcher, '@type').filter((each) =>
    /\.Route$/.test(String(each['@type'])),
  );
  const levels = [host, owner];
  return {
    levels,
    names: hostsOf(listAt(host, 'domains').map(String)),
    routes: [...mapsAt(host, 'routes'), ...matched].map(
      (map): EnvoyRoute => ({
        map,
        match: map.match,
        action: map.route,
        levels: [map, ...levels],
      }),
    ),
  };
}

export function filtersIn(maps: readonly YamlMap[]): Filter[] {
  return maps.map((map): Filter => {
    const outer = at(map, 'typed_config');
    const config = mapsWith(outer, '@type').find((each) => each['@type'] === EXT_AUTHZ) ?? outer;
    return { map, name: textAt(map, 'name') ?? '', config, isConditional: config !== outer };
  });
}

function endpointsOf(cluster: unknown): string[] {
  return listAt(cluster, 'load_assignment', 'endpoints')
    .flatMap((locality) => listAt(locality, 'lb_endpoints'))
    .map((endpoint) => at(endpoint, 'endpoint', 'address'))
    .flatMap((address) => {
      const pipe = textAt(address, 'pipe', 'path');
      if (pipe !== undefined) return [`unix:${pipe}`];
      const host = textAt(address, 'socket_address', 'address');
      const port = at(address, 'socket_address', 'port_value');
      return host === undefined ? [] : [`${host.includes(':') ? `[${host}]` : host}:${port}`];
    });
}

/** Envoy accepts the names of fields in two forms: `http_filters` and `httpFilters`. */
function withProtoNames(text: string): string {
  if (!/\b(?:httpFilters|typedConfig)\b/.test(text)) return text;
  const names = /(?<![\w.$%-])[a-z]+(?:[A-Z][a-z0-9]+)+(?=["'][ \t]*:|[ \t]*:[ \t\r\n])/g;
  return text.replaceAll(names, (name) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
}
