/** The compiled policy file. A reload replaces it as a whole. */
import type { CheckRequest } from '../check-request.ts';
import type { NeededHeader } from '../header-watch.ts';
import type { HeaderConfig } from '../identity/claims.ts';
import type { Identity, IdentityConfig } from '../identity/identity.ts';
import { compileListedClients, type ListedClients } from '../identity/listed-clients.ts';
import { modeOf, NO_OVERRIDES, type PolicyModes } from '../overrides.ts';
import { canonicalPath } from '../path/path.ts';
import type { Policy } from '../policy.ts';
import { tracePolicies } from '../policy-trace.ts';
import type { Trace } from '../trace.ts';
import { compileMatcher, type Matchable, type Matcher, matchable, type Route } from './matcher.ts';

/** The parts of a policy file that a policy set has as they are. */
interface PolicySetParts extends Identity {
  readonly fallback: Policy;
  readonly naming: Naming;
  readonly neededHeaders: readonly NeededHeader[];
  readonly answers: AnswerStyle;
}

export interface PolicySetDefinition extends PolicySetParts {
  /** A policy has a route for each of its paths. */
  readonly routes: readonly Route<Policy>[];
  /** Policies that apply in addition to the matching one. A route without path, host and method matches every request. */
  readonly always: readonly Route<Policy>[];
  readonly caseSensitive: boolean;
}

export interface PolicySet extends PolicySetParts {
  readonly policies: readonly Policy[];
  readonly listedClients: ListedClients;
  /** The policy file takes API keys from the store. */
  readonly keysInStore: boolean;
  /** A limit that may count addresses remembers units for longer than a day. */
  readonly hasLongWindows: boolean;
  has(name: string): boolean;
  /** Whether a policy has limits for this plan. */
  hasPlan(plan: string): boolean;
  /** The policies that apply to a request, the most specific one first; none if its path is malformed. */
  policiesFor(request: RequestLine, modes?: PolicyModes, trace?: Trace): readonly Policy[];
}

/** What operators need to name a client by its address or key as requests do. */
export type Naming = Omit<IdentityConfig, keyof HeaderConfig | 'rememberedAddresses'>;

type RequestLine = Pick<
  CheckRequest,
  'method' | 'host' | 'target' | 'sentTarget' | 'policy' | 'missing'
>;

export interface AnswerStyle {
  /** X-RateLimit-Reset as seconds since the epoch or from now. */
  readonly reset: 'epoch' | 'delta';
  /** Up to this many seconds are added to Retry-After, so that denied clients do not all retry at once. */
  readonly retryAfterJitterSeconds: number;
  readonly body: 'json' | 'problem+json';
}

export function compilePolicySet(definition: PolicySetDefinition): PolicySet {
  const { routes, always, caseSensitive: _used, ...parts } = definition;
  const policies = [...new Set([...routes, ...always].map(({ value }) => value)), parts.fallback];
  const byName = new Map(policies.map((policy) => [policy.name, policy]));
  const plans = new Set(policies.flatMap((policy) => [...policy.plans.keys()]));
  const hasPlan = (plan: string) => plans.has(plan);
  return {
    ...parts,
    policies,
    listedClients: compileListedClients(parts.naming.apiKeys, hasPlan),
    keysInStore: parts.naming.keysInStore === true,
    hasLongWindows: policies.some(({ lookback }) => lookback.longMs > 0),
    has: (name) => byName.has(name),
    hasPlan,
    policiesFor: compileMatching(definition, policies, byName),
  };
}

function compileMatching(
  definition: PolicySetDefinition,
  policies: readonly Policy[],
  byName: ReadonlyMap<string, Policy>,
): PolicySet['policiesFor'] {
  const { fallback, caseSensitive } = definition;
  const strictest = compileStrictest(policies, fallback);
  const specific = compileMatcher(definition.routes);
  const always = [...Map.groupBy(definition.always, ({ value }) => value)].map(
    ([policy, routes]) => ({ policy, matcher: compileMatcher(routes) }),
  );

  const policiesOf = (request: RequestLine, modes: PolicyModes, trace?: Trace) => {
    const { method, host, target } = request;
    const found = canonicalPath(target, caseSensitive);
    const { path, otherReadings, unclear } = found;
    const around = unclear.length === 0 ? unclear : specific.around({ method, host }, unclear);
    const malformed = found.malformed || around === undefined;
    trace?.({ type: 'path', target, path, otherReadings, around: around ?? unclear, malformed });
    if (malformed) return NO_POLICIES;
    const readings = [path, ...otherReadings];
    const [likeliest, ...others] = readings.map((each) => matchable(method, host, each)) as [
      Matchable,
      ...Matchable[],
    ];
    const named = request.policy === undefined ? undefined : byName.get(request.policy);
    const applied = [named ?? specific(likeliest) ?? fallback];
    for (const { matcher } of always) {
      addOnce(applied, matcher(likeliest) ?? firstMatch(matcher, others));
    }
    if (named === undefined) for (const each of others) addOnce(applied, specific(each));
    for (const each of around) {
      if (applied.length > MAX_APPLIED) break;
      addOnce(applied, specific(matchable(method, host, each)));
    }
    if (unclear.length > 0) {
      for (const { policy, matcher } of always) {
        if (matcher.around({ method, host }, unclear)?.length !== 0) addOnce(applied, policy);
      }
    }
    readings.push(...around);
    if (trace) tracePolicies(definition, { request, readings, applied, modes }, trace);
    return applied;
  };

  return (request, modes = NO_OVERRIDES.modes, trace) => {
    // A request without its target could be any request, so it must not be cheaper than the strictest policy.
    if (request.missing.length > 0) {
      const policy = strictest(modes);
      trace?.({ type: 'path-unknown', policy: policy.name });
      return [policy];
    }
    const { target, sentTarget = target } = request;
    const applied = policiesOf(request, modes, trace);
    if (sentTarget === target || applied.length === 0) return applied;
    const sent = policiesOf({ ...request, target: sentTarget }, modes, trace);
    return sent.length === 0 ? NO_POLICIES : [...new Set([...applied, ...sent])];
  };
}

const NO_POLICIES: readonly Policy[] = [];
const MAX_APPLIED = 16;

/** The strictest enforced policy. It is computed again only when an override changes a mode. */
function compileStrictest(policies: readonly Policy[], fallback: Policy) {
  const find = (modes: PolicyModes) =>
    strictestOf(policies, (policy) => modeOf(policy, modes) === 'enforce') ?? fallback;
  let known = { modes: NO_OVERRIDES.modes, policy: find(NO_OVERRIDES.modes) };
  return (modes: PolicyModes): Policy => {
    if (known.modes !== modes) known = { modes, policy: find(modes) };
    return known.policy;
  };
}

function firstMatch(matcher: Matcher<Policy>, readings: readonly Matchable[]): Policy | undefined {
  for (const reading of readings) {
    const policy = matcher(reading);
    if (policy !== undefined) return policy;
  }
  return undefined;
}

function addOnce(policies: Policy[], policy: Policy | undefined): void {
  if (policy !== undefined && !policies.includes(policy)) policies.push(policy);
}

/** The policy with the lowest rate of requests in a limit that is not global; the first one if there is none. */
export function strictestOf(
  policies: readonly Policy[],
  isEnforced = ({ mode }: Policy) => mode === 'enforce',
): Policy | undefined {
  let strictest: Policy | undefined;
  let lowestRate = Number.POSITIVE_INFINITY;
  for (const policy of policies) {
    if (!isEnforced(policy)) continue;
    for (const limit of policy.limits) {
      const rate = limit.quota.limit / limit.cost / limit.quota.windowMs;
      if (limit.per !== 'global' && rate < lowestRate) {
        lowestRate = rate;
        strictest = policy;
      }
    }
  }
  return strictest ?? policies[0];
}
