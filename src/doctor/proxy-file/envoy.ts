/** Reads a file of Envoy with the filter ext_authz, over HTTP or gRPC. */
import { type ProxyFacts, SECRET_HEADER } from './facts.ts';
import { at, listAt, textAt, type YamlMap, yamlMaps } from './yaml-nodes.ts';

export const EXT_AUTHZ = 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz';

export function envoyFacts(text: string): ProxyFacts | undefined {
  if (!text.includes(EXT_AUTHZ)) return undefined;
  const maps = yamlMaps(text);
  const filter = maps.find((map) => map['@type'] === EXT_AUTHZ);
  if (filter === undefined) return undefined;
  const isGrpc = at(filter, 'grpc_service') !== undefined;
  const sent = isGrpc
    ? listAt(filter, 'grpc_service', 'initial_metadata')
    : listAt(filter, 'http_service', 'authorization_request', 'headers_to_add');
  const secret = sent.find((each) => textAt(each, 'key')?.toLowerCase() === SECRET_HEADER);
  const cluster = isGrpc
    ? textAt(filter, 'grpc_service', 'envoy_grpc', 'cluster_name')
    : textAt(filter, 'http_service', 'server_uri', 'cluster');
  return {
    proxy: isGrpc ? 'envoy-grpc' : 'envoy',
    passed: passedBy(filter, isGrpc),
    owned: new Set(sent.map((each) => textAt(each, 'key')?.toLowerCase() ?? '')),
    secret: textAt(secret, 'value'),
    gateways: maps.filter((map) => map.name === cluster).flatMap(endpointsOf),
    losesDenials: false,
    refusesAll: at(filter, 'failure_mode_allow') !== true,
  };
}

function passedBy(filter: YamlMap, isGrpc: boolean): ProxyFacts['passed'] {
  const patterns = [
    ...listAt(filter, 'allowed_headers', 'patterns'),
    ...listAt(filter, 'http_service', 'authorization_request', 'allowed_headers', 'patterns'),
  ];
  // Over gRPC, Envoy sends every header if none are listed.
  if (isGrpc && patterns.length === 0) return 'all';
  // Prefixes and expressions may match anything.
  if (patterns.some((pattern) => textAt(pattern, 'exact') === undefined)) return 'all';
  const names = patterns.map((pattern) => textAt(pattern, 'exact')?.toLowerCase() ?? '');
  return new Set(isGrpc ? names : [...names, 'authorization']);
}

function endpointsOf(cluster: YamlMap): string[] {
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
