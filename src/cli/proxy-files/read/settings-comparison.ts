import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import type { Environment } from '../../../gateway/config/settings/environment.ts';
import { isMcpHeader } from '../../../gateway/core/mcp/mcp-call.ts';
import {
  clientHeadersOf,
  corsHeadersOf,
  metadataOf,
  settlingPolicies,
  vouchedIn,
} from '../print/client-headers.ts';
import { isSameFailureRegion, usesGrpc } from '../print/proxy-config.ts';
import { addressOf } from './addresses.ts';
import { found } from './catalog.ts';
import { FROM_ENVIRONMENT, type ProxyFacts, type ProxyFile } from './reader.ts';

type Settings = Pick<Environment, 'host' | 'port' | 'socket' | 'grpcPort' | 'proxySecrets'>;

export interface Comparison extends Omit<ProxyFile, 'path'> {
  readonly settings: Settings;
  /** Asks the running gateway. Resolves to undefined if no gateway answers. */
  readonly isAccepted: (secret: string | undefined) => Promise<boolean | undefined>;
}

/** Returns nothing if everything fits. `ofSecret` are the findings about the secret. */
export function misfits(
  facts: ProxyFacts,
  input: Comparison,
  ofSecret: readonly Diagnostic[],
): Diagnostic[] {
  const { policies, settings } = input;
  const file = facts.place ?? input.file;
  return [
    ...(facts.losesDenials
      ? [found('denial-becomes-500', file, 'clients get a 500 in place of each 429')]
      : []),
    ...(policies === undefined ? [] : headerFindings(file, facts, policies)),
    ...(policies === undefined ? [] : metadataFindings(file, facts, policies)),
    ...(policies === undefined ? [] : tokenFindings(input, file, policies)),
    ...ofSecret,
    ...addressFindings(file, facts, settings),
    ...(policies === undefined ? [] : failureFindings(input, facts, policies)),
    ...(facts.refusesAll
      ? [found('refuses-without-gateway', file, 'every request is refused without a gateway')]
      : []),
  ];
}

function headerFindings(
  file: string,
  { proxy, passed, owned }: ProxyFacts,
  policies: ValidFile,
): Diagnostic[] {
  const needed = clientHeadersOf(policies);
  const isPassed = (name: string) => passed === 'all' || passed.has(name);
  const isMissing = (name: string) => !isPassed(name) && !owned.has(name);
  const lost = (name: string) =>
    isMcpHeader(name)
      ? found('mcp-header-not-passed', file, `${proxy} does not pass ${name} on to headgate`)
      : found('header-not-passed', file, `${name} does not reach headgate`);
  const fromClient = (name: string) =>
    isMcpHeader(name)
      ? found('mcp-header-not-compared', file, `${name} may differ from what the body says`)
      : found('header-from-client', file, `${name} is what the client sends`);
  return [
    ...needed.passed
      .filter((name) => name === 'forwarded' || needed.counted.includes(name))
      .filter(isMissing)
      .map(lost),
    ...corsHeadersOf(policies)
      .filter(isMissing)
      .map((name) => found('cors-header-not-passed', file, `${name} does not reach headgate`)),
    ...needed.owned.filter((name) => isPassed(name) && !owned.has(name)).map(fromClient),
    ...needed.owned.filter(isMissing).map(lost),
  ];
}

function metadataFindings(
  file: string,
  { metadata, unwritten }: ProxyFacts,
  policies: ValidFile,
): Diagnostic[] {
  const why =
    metadata === undefined
      ? 'is not sent: only Envoy over gRPC can'
      : 'is not in metadata_context_namespaces of the filter';
  const isSent = (namespace: string) => metadata?.has(namespace) === true;
  const unwrittenBy = vouchedIn(policies.identity).flatMap((each) =>
    each !== undefined && 'metadata' in each && isSent(each.metadata)
      ? (unwritten?.(each) ?? [])
      : [],
  );
  return [
    ...metadataOf(policies)
      .filter((namespace) => !isSent(namespace))
      .map((namespace) => found('metadata-not-sent', file, `${namespace} ${why}`)),
    ...[...new Set(unwrittenBy)].map((problem) => found('metadata-not-written', file, problem)),
  ];
}

/** Besides hiding it from clients, a printed file names the header for the request to the application. */
const NAMES_TOKEN = /^(?!\s*(#|\w+_hide_header)).*(x-headgate-settle|\bHTTP_X_HEADGATE_SETTLE)/im;

function tokenFindings({ text }: Comparison, file: string, policies: ValidFile): Diagnostic[] {
  const isNamed = NAMES_TOKEN.test(text);
  if (isNamed || settlingPolicies(policies).length === 0) return [];
  return [found('settle-token-not-passed', file, 'passes no settle token to the application')];
}

function addressFindings(
  file: string,
  { proxy, gateways }: ProxyFacts,
  { host, port, socket, grpcPort }: Settings,
): Diagnostic[] {
  const isGrpc = usesGrpc(proxy);
  if (isGrpc && grpcPort === undefined)
    return [found('grpc-off', file, 'asks over gRPC, and no gateway listens for it')];
  const written = host.includes(':') ? `[${host}]` : host;
  const listens =
    !isGrpc && socket !== undefined ? `unix:${socket}` : `${written}:${isGrpc ? grpcPort : port}`;
  if (gateways.length === 0 || gateways.some((gateway) => isSamePlace(gateway, listens))) return [];
  const listed = gateways.slice(0, 3).join(', ');
  return [found('other-gateway-address', file, `asks ${listed}; headgate listens on ${listens}`)];
}

/** Every address is the same place if headgate listens on all of them. */
function isSamePlace(gateway: string, listens: string): boolean {
  const portOf = (address: string) => address.slice(address.lastIndexOf(':'));
  const [from, to] = [addressOf(gateway), addressOf(listens)];
  const isEverywhere = /^(0\.0\.0\.0|\[::\]):/.test(listens);
  return from === to || (isEverywhere && portOf(from) === portOf(to));
}

function failureFindings(
  { file, text }: Comparison,
  { proxy, refusesAll, refused }: ProxyFacts,
  policies: ValidFile,
): Diagnostic[] {
  if (refusesAll) return [];
  const isSame = isSameFailureRegion(proxy, { text, entries: refused }, policies);
  if (isSame === true) return [];
  const problem =
    isSame === undefined
      ? 'has no part that refuses routes while no gateway answers'
      : 'refuses other routes than the policy file says while no gateway answers';
  return [found('other-failure-routes', file, problem)];
}

/** Resolves to undefined if the secret of the gateway is not known, and no gateway answers. */
export async function compareSecret(
  facts: ProxyFacts,
  input: Comparison,
): Promise<Diagnostic[] | undefined> {
  const { secret } = facts;
  const { proxySecrets } = input.settings;
  if (secret === FROM_ENVIRONMENT) return [];
  const differs = (problem: string) => [
    found('secret-not-sent', secretPlace(facts, input), problem),
  ];
  if (proxySecrets.length > 0) {
    if (secret === undefined) return differs('no secret is sent');
    const isSame = proxySecrets.includes(secret);
    return isSame ? [] : differs('the secret is not that of HEADGATE_PROXY_SECRET');
  }
  // This environment may not be that of the gateway.
  const isAccepted = await input.isAccepted(secret);
  if (isAccepted === false) {
    const problem = secret === undefined ? 'no secret is sent' : 'this is another secret';
    return differs(`${problem}, and the running gateway refuses such checks`);
  }
  return secret === undefined || isAccepted ? [] : undefined;
}

function secretPlace(
  { proxy, place, secretPlace }: ProxyFacts,
  { file, text }: Comparison,
): string {
  if (secretPlace !== undefined) return secretPlace;
  // The text of a Caddyfile has imported files in it.
  if (place !== undefined || proxy === 'caddy') return place ?? file;
  const line = text.split('\n').findIndex((each) => SECRET_LINE.test(each));
  return line === -1 ? file : `${file}:${line + 1}`;
}

const SECRET_LINE = /^(?!\s*#).*(x-headgate-secret|headgate_secret\b)/i;
