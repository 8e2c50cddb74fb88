/** Everything that one policy file decides, compiled. Replaced as a whole. */
import type { AddressSet } from './address.ts';
import type { ListedKey } from './api-key.ts';
import type { CheckRequest } from './check-request.ts';
import type { NeededHeader } from './header-watch.ts';
import type { IdentityResolver, IdentitySource } from './identity.ts';
import { compileMatcher, type Matcher, type Route } from './matcher.ts';
import { modeOf, NO_OVERRIDES, type PolicyModes } from './overrides.ts';
import { canonicalPath } from './path.ts';
import { type Policy, strictestOf } from './policy.ts';
import { recordPolicies } from './policy-reasons.ts';
import type { Recorder } from './recorder.ts';
import { DAY_MS } from './salts.ts';

export interface PolicySet {
  readonly policies: readonly Policy[];
  readonly identify: IdentityResolver;
  readonly naming: Naming;
  readonly answers: AnswerStyle;
  /** What identity and limits cannot tell clients apart without. */
  readonly neededHeaders: readonly NeededHeader[];
  /** Whether a limit has a window longer than a day. */
  readonly hasLongWindows: boolean;
  /** What a request gets that no policy names. */
  readonly fallback: Policy;
  /** Whether a policy has this name. */
  has(name: string): boolean;
  /** The policies that a request is held to; none when its path is malformed. */
  policiesFor(request: RequestLine, modes?: PolicyModes, record?: Recorder): readonly Policy[];
}

/** What it takes to know a client by its address or its key, as requests are. */
export interface Naming {
  /** How many bits of an IPv6 address count, the most first. */
  readonly ipv6Prefixes: readonly number[];
  readonly apiKeys: readonly ListedKey[];
  readonly sources: readonly IdentitySource[];
  readonly trustedProxies: AddressSet;
}

/** What policies match. */
export type RequestLine = Pick<CheckRequest, 'method' | 'host' | 'target' | 'policy' | 'missing'>;

/** How answers are written, for every dialect alike. */
export interface AnswerStyle {
  /** X-RateLimit-Reset as seconds since the epoch or from now. */
  readonly reset: 'epoch' | 'delta';
  /** Up to so many seconds are added to Retry-After, so that denied clients do not all come back at once. */
  readonly retryAfterJitterSeconds: number;
  readonly body: 'json' | 'problem+json';
}

export interface PolicySetDefinition {
  readonly routes: readonly Route<Policy>[];
  /** Apply besides whatever else does. One without a path, host or method applies to every request. */
  readonly always: readonly Route<Policy>[];
  readonly fallback: Policy;
  readonly identify: IdentityResolver;
  readonly naming: Naming;
  readonly neededHeaders: readonly NeededHeader[];
  readonly answers: AnswerStyle;
  readonly caseSensitive: boolean;
}

export function compilePolicySet(definition: PolicySetDefinition): PolicySet {
  const { fallback, caseSensitive } = definition;
  const policies = [...definition.routes, ...definition.always].map((route) => route.value);
  policies.push(fallback);
  const byName = new Map(policies.map((policy) => [policy.name, policy]));
  const findStrictest = (modes: PolicyModes) =>
    strictestOf(policies, (policy) => modeOf(policy, modes) === 'enforce') ?? fallback;
  // Looked for once for as long as operators leave the modes alone.
  let known = { modes: NO_OVERRIDES.modes, policy: findStrictest(NO_OVERRIDES.modes) };
  const strictestUnder = (modes: PolicyModes) => {
    if (known.modes !== modes) known = { modes, policy: findStrictest(modes) };
    return known.policy;
  };
  const specific = compileMatcher(definition.routes);
  const always = definition.always.map((route) => compileMatcher([route]));

  return {
    policies,
    identify: definition.identify,
    naming: definition.naming,
    answers: definition.answers,
    neededHeaders: definition.neededHeaders,
    hasLongWindows: policies.some(hasLongWindow),
    fallback,
    has: (name) => byName.has(name),
    policiesFor(request, modes = NO_OVERRIDES.modes, record) {
      // Without its target nobody knows what is being asked for: it must not be cheaper than the dearest thing there is.
      if (request.missing.length > 0) {
        const strictest = strictestUnder(modes);
        record?.(
          'policy',
          `${strictest.name}: the strictest, since the proxy does not say what is asked for`,
        );
        return [strictest];
      }
      const { path, otherReadings, suspicious, malformed } = canonicalPath(
        request.target,
        caseSensitive,
      );
      record?.(
        'path',
        path === request.target ? `${path}, as it came` : `${request.target} is ${path}`,
      );
      for (const reading of otherReadings) record?.('path', `or, for some servers, ${reading}`);
      if (suspicious)
        record?.('path', 'servers disagree about it: the strictest policy applies, too');
      if (malformed) {
        record?.('path', 'it has control characters, or too many readings: refused');
        return [];
      }
      const named = request.policy === undefined ? undefined : byName.get(request.policy);
      const applied = [named ?? match(specific, request, path) ?? fallback];
      const readings = otherReadings.length === 0 ? [path] : [path, ...otherReadings];
      for (const matcher of always) addOnce(applied, matchAny(matcher, request, readings));
      if (named === undefined) {
        for (const reading of otherReadings) addOnce(applied, match(specific, request, reading));
      }
      if (suspicious) addOnce(applied, strictestUnder(modes));
      if (record) {
        recordPolicies(definition, { request, readings, applied, modes }, record);
      }
      return applied;
    },
  };
}

function hasLongWindow({ limits, plans }: Policy): boolean {
  return [limits, ...plans.values()].flat().some(({ quota }) => quota.windowMs > DAY_MS);
}

function match(matcher: Matcher<Policy>, request: RequestLine, path: string): Policy | undefined {
  return matcher(request.method, request.host, path);
}

/** Of a matcher with one policy: the first reading that matches is enough. */
function matchAny(
  matcher: Matcher<Policy>,
  request: RequestLine,
  readings: readonly string[],
): Policy | undefined {
  for (const reading of readings) {
    const policy = match(matcher, request, reading);
    if (policy !== undefined) return policy;
  }
  return undefined;
}

function addOnce(policies: Policy[], policy: Policy | undefined): void {
  if (policy !== undefined && !policies.includes(policy)) policies.push(policy);
}
