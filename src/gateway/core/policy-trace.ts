/** Traces why each policy applies to a request or does not, by matching the parts of its routes one by one. */
import type { CheckRequest } from './check-request.ts';
import type { SentHeaders } from './matching/endpoints.ts';
import { compileMatcher, matchable, type Route, type RouteMatch } from './matching/matcher.ts';
import { callText, compileMcpCalls } from './mcp/mcp-calls.ts';
import { modeOf, type PolicyModes } from './overrides.ts';
import type { Policy } from './policy.ts';
import { isPreflight, type SentRequest } from './preflight.ts';
import type { PolicyReason, PolicyResult, Requirement, Trace } from './trace.ts';

interface Policies {
  readonly routes: readonly Route<Policy>[];
  readonly always: readonly Route<Policy>[];
  readonly fallback: Policy;
}

type RequestParts = Pick<CheckRequest, 'host' | 'policy'> & SentRequest;

interface MatchedRequest {
  readonly request: RequestParts;
  readonly sent: SentHeaders;
  readonly readings: readonly string[];
  readonly applied: readonly Policy[];
  readonly modes: PolicyModes;
}

/** One event for each policy of the file, in the order of the file; the default comes last. */
export function tracePolicies(policies: Policies, matched: MatchedRequest, trace: Trace): void {
  const { routes, always, fallback } = policies;
  const emit = (policy: Policy, result: PolicyResult) => {
    const mode = modeOf(policy, matched.modes);
    const isModeOverridden = mode !== policy.mode;
    trace({ type: 'policy', policy: policy.name, mode, isModeOverridden, result });
  };
  for (const [policy, own] of byPolicy(routes)) emit(policy, resultOf(policy, own, matched));
  for (const [policy, own] of byPolicy(always)) {
    const isApplied = matched.applied.includes(policy);
    emit(policy, isApplied ? { status: 'always' } : resultOf(policy, own, matched));
  }
  emit(fallback, fallbackResult(fallback, matched));
}

/** A policy has a route for each of its paths. They differ in nothing else. */
function byPolicy(routes: readonly Route<Policy>[]) {
  return Map.groupBy(routes, ({ value }) => value);
}

function resultOf(
  policy: Policy,
  routes: readonly Route<Policy>[],
  { request, sent, readings, applied }: MatchedRequest,
) {
  const [first] = applied;
  const call = callRequirement(routes, sent);
  const unmet = readings.map((reading) => [
    ...unmetRequirements(routes, request, reading),
    ...call,
  ]);
  const isMatch = unmet.some((each) => each.length === 0);
  if (applied.includes(policy)) {
    if (policy === first) return { status: firstReason(policy, request) };
    const isStrict = call.length === 1 && unmet.some(({ length }) => length === 1);
    return { status: isStrict ? 'strict' : 'other-reading' } as const;
  }
  if (isMatch) return { status: 'outranked', by: first?.name ?? '' } as const;
  return { status: 'no-match', requires: unmet[0] ?? [] } as const;
}

/** Nothing if the policy is for the call, or not for calls of MCP at all. */
function callRequirement(
  routes: readonly Route<Policy>[],
  { headers, vouchesMcp }: SentHeaders,
): Requirement[] {
  const calls = routes.flatMap(({ mcp }) => (mcp ? [{ mcp, value: true }] : []));
  if (calls.length === 0 || compileMcpCalls(calls)(headers, vouchesMcp)?.length !== 0) return [];
  const texts = new Set(calls.map(({ mcp }) => callText(mcp)));
  return [{ part: 'MCP call', value: [...texts].join(', ') }];
}

function fallbackResult(fallback: Policy, { request, applied }: MatchedRequest): PolicyResult {
  if (!applied.includes(fallback)) return { status: 'not-needed' };
  if (isPreflight(request)) return { status: 'preflight' };
  return { status: request.policy === fallback.name ? 'named-by-proxy' : 'nothing-matches' };
}

function firstReason(policy: Policy, request: RequestParts): PolicyReason {
  return request.policy === policy.name ? 'named-by-proxy' : 'most-specific';
}

function unmetRequirements(
  routes: readonly Route<Policy>[],
  { method, host }: RequestParts,
  path: string,
): Requirement[] {
  const line = matchable(method, host, path);
  const matches = (parts: readonly RouteMatch[]) =>
    compileMatcher(parts.map((part) => ({ ...part, value: true })))(line) !== undefined;
  if (matches(routes)) return [];
  const [{ host: ownHost, methods }] = routes as [Route<Policy>];
  const paths = routes.map((route) => ({ path: route.path }));
  const unmet: Requirement[] = [];
  if (!matches(paths)) {
    const each = new Set(routes.map(({ path }) => path));
    unmet.push({ part: 'path', value: [...each].join(', ') });
  }
  if (!matches([{ host: ownHost }])) unmet.push({ part: 'host', value: ownHost ?? '' });
  if (!matches([{ methods }])) unmet.push({ part: 'method', value: methods?.join(', ') ?? '' });
  return unmet;
}
