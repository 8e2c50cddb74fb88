import type { AddressInfo } from 'node:net';
import type { Listening } from '../../gateway/app/gateway.ts';
import type { PolicySource } from '../../gateway/config/policy-file/policy-source.ts';
import { targetText } from '../../gateway/config/settings/control-plane-forms.ts';
import type { Environment, RateLimitSettings } from '../../gateway/config/settings/environment.ts';
import { redisPlace } from '../../gateway/config/settings/redis-url.ts';
import { SHIPPED_POLICIES } from '../../gateway/config/shipped-files.ts';
import { byFailureMode, type Policy } from '../../gateway/core/policy.ts';

export function banner(
  environment: Environment,
  policies: PolicySource,
  { store, gateways, check, grpc, json, ops }: Listening,
): string[] {
  const { rateLimit } = environment;
  const names = policies.current.policies.map(({ name }) => name).join(', ');
  const proxies = placeOf(check) ?? placeOf(grpc);
  return [
    `headgate answers proxies at ${proxies}${ops === undefined ? '' : ` and operators at ${urlOf(ops)}`}`,
    ...(grpc === undefined ? [] : [`  grpc      ${urlOf(grpc)} (Envoy)`]),
    ...(json === undefined ? [] : [`  json      ${urlOf(json)}/json`]),
    ...(ops === undefined || !environment.ui ? [] : [`  page      ${urlOf(ops)}/ui/`]),
    ...(rateLimit === undefined ? [] : [`  limits    ${limitsFrom(rateLimit)}`]),
    ...(check === undefined ? [] : [`  policies  ${environment.policies} (${names})`]),
    ...storeLines(environment.redis, store, policies.current.policies),
    ...(environment.redis === undefined && policies.current.keysInStore ? [KEYS_LOST] : []),
    ...replicasLines(environment, gateways),
    ...(check === undefined ? [] : [tryLine(environment, check)]),
  ];
}

function placeOf(place: AddressInfo | string | undefined): string | undefined {
  return typeof place === 'string' ? `unix:${place}` : place && urlOf(place);
}

function limitsFrom({ config, controlPlane }: RateLimitSettings): string {
  if (controlPlane === undefined) return `${config} (for Envoy's rate limit filter)`;
  return `of the control plane at ${targetText(controlPlane)}`;
}

function tryLine({ policies, proxySecrets }: Environment, check: AddressInfo | string): string {
  const target =
    typeof check === 'string' ? `--unix-socket ${check} http://localhost` : urlOf(check);
  // The secret itself is never printed.
  const secret = proxySecrets.length > 0 ? " -H 'x-headgate-secret: ...'" : '';
  return policies === SHIPPED_POLICIES
    ? `  try       curl -i -X POST ${target}/envoy/api/auth/login -H 'x-api-key: alice'${secret}`
    : `  try       curl -i ${target}/envoy/${secret} (a check, as Envoy sends it)`;
}

function storeName(redis: Environment['redis']): string {
  if (redis === undefined)
    return 'memory: counters of this process only; set HEADGATE_REDIS_URL to share them';
  const { kind, addresses, masterName } = redis;
  const places = addresses.map(redisPlace).join(', ');
  if (kind === 'sentinel') return `Redis, the master ${masterName} of the sentinels at ${places}`;
  return kind === 'cluster' ? `Redis Cluster at ${places}` : `Redis at ${places}`;
}

const WHY = '(headgate check --redis says why)';
const EVICTS =
  'EVICTS COUNTERS when it is full, so clients get new limits: set its maxmemory-policy to noeviction';
const UNCOUNTED = {
  refuses: `REFUSES TO COUNT ${WHY}`,
  'runs-no-lua': 'RUNS NO LUA, in which headgate counts: load its module lua',
  unreachable: `NOT CONNECTED ${WHY}`,
} as const;
const CONSEQUENCES = {
  allow: 'requests pass uncounted',
  local: 'each gateway counts its own share of the limits',
  deny: 'requests are denied',
} as const;
const MOST_NAMES = 20;
const INDENT = ' '.repeat(12);
const KEYS_LOST = `${INDENT}API KEYS ARE LOST when this process ends (keys: redis): set HEADGATE_REDIS_URL to keep them`;

/** If the store does not count yet, the lines say what happens to requests until it does. */
function storeLines(
  redis: Environment['redis'],
  store: Listening['store'],
  policies: readonly Policy[],
): string[] {
  const name = `  store     ${storeName(redis)}`;
  if (store === 'counts') return [name];
  if (store === 'evicts') return [name, `${INDENT}${EVICTS}`];
  const modes = byFailureMode(policies);
  const rows = (['allow', 'local', 'deny'] as const)
    .filter((mode) => modes[mode].length > 0)
    .map((mode) => ({
      what: `${CONSEQUENCES[mode]} (on_store_failure: ${mode})`,
      names: someOf(modes[mode]),
    }));
  const state = UNCOUNTED[store];
  const [only, ...others] = rows;
  if (only === undefined) return [`${name}: ${state}`];
  if (others.length === 0) return [`${name}: ${state}, ${only.what}`];
  return [`${name}: ${state}`, ...rows.map(({ what, names }) => `${INDENT}${what}: ${names}`)];
}

/** A gateway that another one replaces runs for some seconds more, so this may be no mistake. */
function replicasLines({ replicas }: Environment, gateways = 1): string[] {
  if (replicas > 1 || gateways === 1) return [];
  const what = `HEADGATE_REPLICAS is 1, but ${gateways} gateways count here. A gateway that starts while Redis is down`;
  return [
    `${INDENT}${what} would admit the full limits by itself: set HEADGATE_REPLICAS to ${gateways}`,
  ];
}

function someOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
