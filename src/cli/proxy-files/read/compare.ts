/** Compares what the file of a proxy says with the policy file and the settings. */
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import type { Environment } from '../../../gateway/config/settings/environment.ts';
import {
  asksOverGrpc,
  clientHeadersOf,
  hasFailureRoutes,
  isSameFailureRegion,
} from '../print/proxy-config.ts';
import { addressOf } from './addresses.ts';
import { type DoctorFinding, found } from './catalog.ts';
import type { ProxyFacts, ProxyFile } from './reader.ts';

type Settings = Pick<Environment, 'host' | 'port' | 'socket' | 'grpcPort' | 'proxySecrets'>;

export interface Comparison extends Omit<ProxyFile, 'path'> {
  readonly settings: Settings;
  /** Whether the running gateway accepts a secret, or none. Resolves to undefined if no gateway answers. */
  readonly isAccepted: (secret: string | undefined) => Promise<boolean | undefined>;
}

/** Empty if everything fits. `ofSecret`: what is wrong with the secret. */
export function misfits(
  facts: ProxyFacts,
  input: Comparison,
  ofSecret: readonly DoctorFinding[],
): DoctorFinding[] {
  const { policies, settings } = input;
  const file = facts.place ?? input.file;
  return [
    ...(facts.losesDenials
      ? [found('denial-becomes-500', file, 'clients get a 500 in place of each 429')]
      : []),
    ...(policies === undefined ? [] : headerFindings(file, facts, policies)),
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
  { passed, owned }: ProxyFacts,
  policies: ValidFile,
): DoctorFinding[] {
  const needed = clientHeadersOf(policies);
  const isPassed = (name: string) => passed === 'all' || passed.has(name);
  return [
    ...needed.passed
      // No limit depends on traceparent.
      .filter((name) => !isPassed(name) && !owned.has(name) && name !== 'traceparent')
      .map((name) => found('header-not-passed', file, `${name} does not reach headgate`)),
    ...needed.owned
      .filter((name) => isPassed(name) && !owned.has(name))
      .map((name) => found('header-from-client', file, `${name} is what the client sends`)),
    ...needed.owned
      .filter((name) => !isPassed(name) && !owned.has(name))
      .map((name) => found('header-not-passed', file, `${name} does not reach headgate`)),
  ];
}

function addressFindings(
  file: string,
  { proxy, gateways }: ProxyFacts,
  { host, port, socket, grpcPort }: Settings,
): DoctorFinding[] {
  const isGrpc = asksOverGrpc(proxy);
  if (isGrpc && grpcPort === undefined)
    return [found('grpc-off', file, 'asks over gRPC, and no gateway listens for it')];
  const written = host.includes(':') ? `[${host}]` : host;
  const listens =
    !isGrpc && socket !== undefined ? `unix:${socket}` : `${written}:${isGrpc ? grpcPort : port}`;
  if (gateways.length === 0 || gateways.some((gateway) => isSamePlace(gateway, listens))) return [];
  const asks = gateways.slice(0, 3).join(', ');
  return [found('other-gateway-address', file, `asks ${asks}; headgate listens on ${listens}`)];
}

/** Names of this machine are the same place, and so is every address if headgate listens on all of them. */
function isSamePlace(asked: string, listens: string): boolean {
  const portOf = (address: string) => address.slice(address.lastIndexOf(':'));
  const [from, to] = [addressOf(asked), addressOf(listens)];
  const isEverywhere = /^(0\.0\.0\.0|\[::\]):/.test(listens);
  return from === to || (isEverywhere && portOf(from) === portOf(to));
}

function failureFindings(
  { file, text }: Comparison,
  { proxy, refusesAll, refused }: ProxyFacts,
  policies: ValidFile,
): DoctorFinding[] {
  if (refusesAll) return [];
  const isSame = isSameFailureRegion(proxy, { text, entries: refused }, policies);
  if (isSame === true || (isSame === undefined && !hasFailureRoutes(policies))) return [];
  const problem =
    isSame === undefined
      ? 'has no part that refuses routes while no gateway answers'
      : 'refuses other routes than the policy file says while no gateway answers';
  return [found('other-failure-routes', file, problem)];
}
