/** Traces why each policy applies to a request or does not, by matching the parts of its route one by one. */
import type { CheckRequest } from './check-request.ts';
import { compileMatcher, matchable, type Route } from './matching/matcher.ts';
import { modeOf, type PolicyModes } from './overrides.ts';
import type { Policy } from './policy.ts';
import type { PolicyReason, PolicyResult, Requirement, Trace } from './trace.ts';

interface Policies {
  readonly routes: readonly Route<Policy>[];
  readonly always: readonly Route<Policy>[];
  readonly fallback: Policy;
}

type RequestParts = Pick<CheckRequest, 'method' | 'host' | 'policy'>;

interface MatchedRequest {
  readonly request: RequestParts;
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
  for (const route of routes) emit(route.value, resultOf(route, matched));
  for (const route of always) {
    const isApplied = matched.applied.includes(route.value);
    emit(route.value, isApplied ? { status: 'always' } : resultOf(route, matched));
  }
  emit(fallback, fallbackResult(fallback, matched));
}

function resultOf(route: Route<Policy>, { request, readings, applied }: MatchedRequest) {
  const [first] = applied;
  const unmet = readings.map((reading) => unmetRequirements(route, request, reading));
  const isMatch = unmet.some((each) => each.length === 0);
  if (applied.includes(route.value)) {
    if (route.value === first) return { status: firstReason(route.value, request) };
    return { status: 'other-reading' } as const;
  }
  if (isMatch) return { status: 'outranked', by: first?.name ?? '' } as const;
  return { status: 'no-match', requires: unmet[0] ?? [] } as const;
}

function fallbackResult(fallback: Policy, { request, applied }: MatchedRequest): PolicyResult {
  if (!applied.includes(fallback)) return { status: 'not-needed' };
  return { status: request.policy === fallback.name ? 'named-by-proxy' : 'nothing-matches' };
}

function firstReason(policy: Policy, request: RequestParts): PolicyReason {
  return request.policy === policy.name ? 'named-by-proxy' : 'most-specific';
}

function unmetRequirements(
  route: Route<Policy>,
  { method, host }: RequestParts,
  path: string,
): Requirement[] {
  const { value } = route;
  const line = matchable(method, host, path);
  const matches = (part: Omit<Route<Policy>, 'value'>) =>
    compileMatcher([{ ...part, value }])(line) !== undefined;
  if (matches(route)) return [];
  const unmet: Requirement[] = [];
  if (!matches({ path: route.path })) unmet.push({ part: 'path', value: route.path ?? '' });
  if (!matches({ host: route.host })) unmet.push({ part: 'host', value: route.host ?? '' });
  if (!matches({ methods: route.methods })) {
    unmet.push({ part: 'method', value: route.methods?.join(', ') ?? '' });
  }
  return unmet;
}
