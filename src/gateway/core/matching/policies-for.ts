/** Which policies apply to a request: the most specific one of each reading of its path, and those that always apply. */
import type { CheckRequest, HeaderFields } from '../check-request.ts';
import { modeOf, NO_OVERRIDES, type PolicyModes } from '../overrides.ts';
import { canonicalPath } from '../path/path.ts';
import type { Policy } from '../policy.ts';
import { tracePolicies } from '../policy-trace.ts';
import { isPreflight } from '../preflight.ts';
import type { Trace } from '../trace.ts';
import { addOnce, compileEndpoints } from './endpoints.ts';
import { compileMatcher, type Matchable, type Matcher, matchable, type Route } from './matcher.ts';
import { strictestOf } from './strictest.ts';

export interface MatchingDefinition {
  /** A policy has a route for each of its paths. */
  readonly routes: readonly Route<Policy>[];
  /** Policies that apply in addition to the matching one. A route without path, host and method matches every request. */
  readonly always: readonly Route<Policy>[];
  readonly fallback: Policy;
  readonly caseSensitive: boolean;
  /** Trusted proxies have compared the headers of MCP calls with their bodies. */
  readonly vouchesMcp: boolean;
}

export type RequestLine = Pick<
  CheckRequest,
  'method' | 'host' | 'target' | 'sentTarget' | 'policy' | 'missing'
> & { readonly headers?: HeaderFields | undefined };

interface Circumstances {
  readonly modes?: PolicyModes | undefined;
  readonly isTrustedProxy?: boolean | undefined;
  readonly trace?: Trace | undefined;
}

/** The policies that apply to a request, the most specific one first; none if the request is malformed. */
export type PoliciesFor = (
  request: RequestLine,
  circumstances?: Circumstances,
) => readonly Policy[];

const MALFORMED_PATH: readonly Policy[] = [];
/** What a request gets whose headers of an MCP call are malformed. */
export const MALFORMED_CALL: readonly Policy[] = [];

export interface Matching {
  readonly policiesFor: PoliciesFor;
  /** Whether policies for MCP calls have the path of the request. */
  isMcp(request: RequestLine): boolean;
}

export function compileMatching(
  definition: MatchingDefinition,
  policies: readonly Policy[],
  byName: ReadonlyMap<string, Policy>,
): Matching {
  const { fallback, caseSensitive, vouchesMcp } = definition;
  const strictest = compileStrictest(policies, fallback);
  const all = compileEndpoints(definition.routes);
  const always = [...Map.groupBy(definition.always, ({ value }) => value)].map(
    ([policy, routes]) => ({ policy, matcher: compileMatcher(routes) }),
  );

  const policiesOf = (request: RequestLine, { modes, isTrustedProxy, trace }: Circumstances) => {
    const { method, host, target, headers = NO_HEADERS } = request;
    const preflight = isPreflight(request);
    const endpoints = preflight ? NO_ENDPOINTS : all;
    const found = canonicalPath(target, caseSensitive);
    const { path, otherReadings, unclear } = found;
    const around = unclear.length === 0 ? unclear : endpoints.around({ method, host }, unclear);
    const malformed = found.malformed || around === undefined;
    trace?.({ type: 'path', target, path, otherReadings, around: around ?? unclear, malformed });
    if (malformed) return MALFORMED_PATH;
    const readings = [path, ...otherReadings];
    const lines = readings.map((each) => matchable(method, host, each));
    const [likeliest, ...others] = lines as [Matchable, ...Matchable[]];
    const sent = { headers, vouchesMcp: vouchesMcp && isTrustedProxy === true, trace };
    const isNamed = request.policy !== undefined && !preflight;
    const named = isNamed ? byName.get(request.policy) : undefined;
    const applied: Policy[] = [];
    if (named !== undefined) applied.push(named);
    else if (!endpoints.add(applied, likeliest, sent)) return MALFORMED_CALL;
    if (applied.length === 0) applied.push(fallback);
    for (const { matcher } of always) addOnce(applied, firstMatch(matcher, lines));
    if (named === undefined) {
      for (const each of others) if (!endpoints.add(applied, each, sent)) return MALFORMED_CALL;
    }
    for (const each of around) {
      if (applied.length > MAX_APPLIED) break;
      if (!endpoints.add(applied, matchable(method, host, each), sent)) return MALFORMED_CALL;
    }
    if (unclear.length > 0) {
      for (const { policy, matcher } of always) {
        if (matcher.around({ method, host }, unclear)?.length !== 0) addOnce(applied, policy);
      }
    }
    readings.push(...around);
    if (trace) {
      const matched = { request, sent, readings, applied, modes: modes ?? NO_MODES };
      tracePolicies(definition, matched, trace);
    }
    return applied;
  };

  return {
    policiesFor(request, circumstances = NOTHING_KNOWN) {
      // A request without its target could be any request, so it must not be cheaper than the strictest policy.
      if (request.missing.length > 0) {
        const policy = strictest(circumstances.modes ?? NO_MODES);
        circumstances.trace?.({ type: 'path-unknown', policy: policy.name });
        return [policy];
      }
      const { target, sentTarget = target } = request;
      const applied = policiesOf(request, circumstances);
      if (sentTarget === target || applied.length === 0) return applied;
      const sent = policiesOf({ ...request, target: sentTarget }, circumstances);
      return sent.length === 0 ? sent : [...new Set([...applied, ...sent])];
    },
    isMcp({ method, host, target }) {
      const { path, malformed } = canonicalPath(target, caseSensitive);
      return !malformed && all.isMcp(matchable(method, host, path));
    },
  };
}

const NOTHING_KNOWN: Circumstances = {};
const NO_HEADERS: HeaderFields = {};
const NO_ENDPOINTS = compileEndpoints([]);
const NO_MODES = NO_OVERRIDES.modes;
export const MAX_APPLIED = 16;

/** The strictest enforced policy. It is computed again only when an override changes a mode. */
function compileStrictest(policies: readonly Policy[], fallback: Policy) {
  const find = (modes: PolicyModes) =>
    strictestOf(policies, (policy) => modeOf(policy, modes) === 'enforce') ?? fallback;
  let known = { modes: NO_MODES, policy: find(NO_MODES) };
  return (modes: PolicyModes): Policy => {
    if (known.modes !== modes) known = { modes, policy: find(modes) };
    return known.policy;
  };
}

function firstMatch(matcher: Matcher<Policy>, lines: readonly Matchable[]): Policy | undefined {
  for (const line of lines) {
    const policy = matcher(line);
    if (policy !== undefined) return policy;
  }
  return undefined;
}
