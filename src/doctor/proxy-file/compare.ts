/** Compares what the file of a proxy says with the policy file and the settings. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import type { Environment } from '../../config/settings/environment.ts';
import {
  asksOverGrpc,
  clientHeadersOf,
  hasFailureRoutes,
  isSameFailureRegion,
} from '../../proxy-config/proxy-config.ts';
import { type DoctorFinding, found } from '../catalog.ts';
import { FROM_ENVIRONMENT, type ProxyFacts } from './facts.ts';

type Settings = Pick<Environment, 'host' | 'port' | 'socket' | 'grpcPort' | 'proxySecrets'>;

export interface Comparison {
  /** The name that is shown. */
  readonly file: string;
  /** Of all files that belong to it. */
  readonly text: string;
  /** Undefined if the policy file has mistakes: then only the settings are compared. */
  readonly policies: ValidFile | undefined;
  readonly settings: Settings;
  /** Whether the running gateway accepts a secret, or none. Resolves to undefined if no gateway answers. */
  readonly isAccepted: (secret: string | undefined) => Promise<boolean | undefined>;
}

/** Empty if everything fits. */
export async function misfits(facts: ProxyFacts, input: Comparison): Promise<DoctorFinding[]> {
  const { policies, settings } = input;
  const file = facts.place ?? input.file;
  return [
    ...(facts.losesDenials
      ? [found('denial-becomes-500', file, 'clients get a 500 in place of each 429')]
      : []),
    ...(policies === undefined ? [] : headerFindings(file, facts, policies)),
    ...(await secretFindings(facts, input)),
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
      .filter((name) => !isPassed(name) && !owned.has(name))
      .map((name) => found('header-not-passed', file, `${name} does not reach headgate`)),
    ...needed.owned
      .filter((name) => isPassed(name) && !owned.has(name))
      .map((name) => found('header-from-client', file, `${name} is what the client sends`)),
    ...needed.owned
      .filter((name) => !isPassed(name) && !owned.has(name))
      .map((name) => found('header-not-passed', file, `${name} does not reach headgate`)),
  ];
}

async function secretFindings(facts: ProxyFacts, input: Comparison): Promise<DoctorFinding[]> {
  const { secret } = facts;
  const { proxySecrets } = input.settings;
  if (secret === FROM_ENVIRONMENT) return [];
  const say = (problem: string) => [found('secret-not-sent', secretPlace(facts, input), problem)];
  if (proxySecrets.length > 0) {
    if (secret === undefined) return say('no secret is sent');
    const isSame = proxySecrets.includes(secret);
    return isSame ? [] : say('the secret is not that of HEADGATE_PROXY_SECRET');
  }
  // This environment may not be that of the gateway.
  if ((await input.isAccepted(secret)) !== false) return [];
  const problem = secret === undefined ? 'no secret is sent' : 'this is another secret';
  return say(`${problem}, and the running gateway refuses such checks`);
}

/** The line with the secret, otherwise the one with the check. */
function secretPlace(
  { proxy, place, secretPlace }: ProxyFacts,
  { file, text }: Comparison,
): string {
  if (secretPlace !== undefined) return secretPlace;
  // The text of a Caddyfile has others in it.
  if (place !== undefined || proxy === 'caddy') return place ?? file;
  const line = text.split('\n').findIndex((each) => SECRET_LINE.test(each));
  return line === -1 ? file : `${file}:${line + 1}`;
}

/** Outside of comments. */
const SECRET_LINE = /^(?!\s*#).*(x-headgate-secret|headgate_secret\b)/i;

const LOCAL = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]|0\.0\.0\.0|\[::\])$/i;

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
  if (asked.startsWith('unix:') || listens.startsWith('unix:')) return asked === listens;
  const [askedHost, askedPort] = split(asked);
  const [host, port] = split(listens);
  if (askedPort !== port) return false;
  const isEverywhere = host === '0.0.0.0' || host === '[::]';
  return askedHost === host || isEverywhere || (LOCAL.test(askedHost) && LOCAL.test(host));
}

function split(address: string): [host: string, port: string] {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon), address.slice(colon + 1)];
}

function failureFindings(
  { file, text }: Comparison,
  { proxy, refusesAll }: ProxyFacts,
  policies: ValidFile,
): DoctorFinding[] {
  if (refusesAll) return [];
  const isSame = isSameFailureRegion(proxy, text, policies);
  if (isSame === true || (isSame === undefined && !hasFailureRoutes(policies))) return [];
  const problem =
    isSame === undefined
      ? 'has no part that refuses routes while no gateway answers'
      : 'refuses other routes than the policy file says while no gateway answers';
  return [found('other-failure-routes', file, problem)];
}
