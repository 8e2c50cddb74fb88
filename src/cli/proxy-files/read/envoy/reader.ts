import { type ProxyFacts, type ReadProxyFile, SECRET_HEADER } from '../reader.ts';
import { at, listAt, textAt } from '../yaml.ts';
import {
  clusterOf,
  type EnvoyFile,
  type Filter,
  headgateFilters,
  readEnvoyFile,
} from './config.ts';
import { envoyFindings } from './findings.ts';
import { unwrittenIn } from './metadata-writers.ts';
import { ownedBefore } from './owned-headers.ts';
import { envoyRewrites } from './rewrites.ts';
import { envoyRoutes, envoySites } from './routes.ts';

export const readEnvoy: ReadProxyFile = ({ file, text }) => {
  if (!text.includes('.ext_authz.v3.ExtAuthz')) return undefined;
  const envoy = readEnvoyFile(file, text);
  const facts = factsOf(envoy);
  if (facts === undefined) return undefined;
  return {
    facts,
    sites: envoySites(envoy),
    routes: envoyRoutes(envoy),
    rewrites: envoyRewrites(envoy),
    own: envoyFindings(envoy),
  };
};

const NAMESPACES = 'metadata_context_namespaces';

function factsOf({
  managers,
  checked,
  checks,
  extAuthz,
  endpoints,
}: EnvoyFile): ProxyFacts | undefined {
  const [check] = [...checks, ...headgateFilters(extAuthz, endpoints)];
  if (check === undefined) return undefined;
  const filter = check.config;
  const isGrpc = at(filter, 'grpc_service') !== undefined;
  const sent = isGrpc
    ? listAt(filter, 'grpc_service', 'initial_metadata')
    : listAt(filter, 'http_service', 'authorization_request', 'headers_to_add');
  const secret = sent.find((each) => textAt(each, 'key')?.toLowerCase() === SECRET_HEADER);
  return {
    proxy: isGrpc ? 'envoy-grpc' : 'envoy',
    passed: passedBy(filter, isGrpc),
    owned: new Set([
      ...sent.map((each) => textAt(each, 'key')?.toLowerCase() ?? ''),
      ...ownedBefore(checked),
    ]),
    ...(isGrpc && { metadata: new Set(listAt(filter, NAMESPACES).map(String)) }),
    unwritten: (named) => unwrittenIn(checked, named),
    secret: textAt(secret, 'value'),
    gateways: endpoints.get(clusterOf(filter) ?? '') ?? [],
    refusesAll: at(filter, 'failure_mode_allow') !== true,
    refused: managers
      .flatMap(({ filters }) => filters)
      .map(refusedBy)
      .find((each) => each !== undefined),
  };
}

/** The first rule of headgate's last filter is that no gateway answered. The others say what it refuses. */
function refusedBy({ config }: Filter): readonly unknown[] | undefined {
  const policy = at(config, 'rules', 'policies', 'gateway_unavailable');
  if (policy === undefined) return undefined;
  return listAt(listAt(policy, 'permissions')[0], 'and_rules', 'rules').slice(1);
}

function passedBy(filter: unknown, isGrpc: boolean): ProxyFacts['passed'] {
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
