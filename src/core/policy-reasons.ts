/** Why each policy applies to a request or does not, found out by asking the matcher about parts of it. */
import type { CheckRequest } from './check-request.ts';
import { compileMatcher, type Route } from './matcher.ts';
import { modeOf, type PolicyModes } from './overrides.ts';
import type { Policy } from './policy.ts';
import type { Recorder } from './recorder.ts';

interface Policies {
  readonly routes: readonly Route<Policy>[];
  readonly always: readonly Route<Policy>[];
  readonly fallback: Policy;
}

type Asked = Pick<CheckRequest, 'method' | 'host' | 'policy'>;

/** What was made of a request. */
interface Matched {
  readonly request: Asked;
  /** Of its path. */
  readonly readings: readonly string[];
  readonly applied: readonly Policy[];
  readonly modes: PolicyModes;
}

/** Each policy of the file, and why it applies or does not. */
export function recordPolicies(
  { routes, always, fallback }: Policies,
  { request, readings, applied, modes }: Matched,
  record: Recorder,
): void {
  const [first] = applied;
  const nameAndMode = (policy: Policy) => describeMode(policy, modes);
  for (const route of [...routes, ...always]) {
    const policy = route.value;
    // Of the readings of its path, the first that it matches.
    const misses = readings.map((reading) => missOf(route, request, reading));
    const isMatch = misses.includes(undefined);
    if (!applied.includes(policy)) {
      const why = isMatch ? `matches, and ${first?.name} comes first` : misses[0];
      record('policy', `${policy.name} ${why}`);
    } else if (always.includes(route)) {
      record('policy', `${nameAndMode(policy)}: always`);
    } else if (policy !== first) {
      const why = isMatch ? 'the path can be read so' : 'it is the strictest';
      record('policy', `${nameAndMode(policy)}: ${why}`);
    } else {
      const isNamed = request.policy === policy.name;
      const why = isNamed ? 'the proxy names it for this route' : 'it is the most specific';
      record('policy', `${nameAndMode(policy)}: ${why}`);
    }
  }
  record(
    'policy',
    applied.includes(fallback)
      ? `${nameAndMode(fallback)}: no policy names the request`
      : `${fallback.name} is for what no policy names`,
  );
}

function describeMode(policy: Policy, modes: PolicyModes): string {
  const { name } = policy;
  const mode = modeOf(policy, modes);
  const by = mode === policy.mode ? '' : ' by an operator';
  if (mode === 'enforce') return `${name} applies${by && `, enforced${by}`}`;
  return mode === 'shadow'
    ? `${name} applies, in shadow${by}`
    : `${name} would apply, and is off${by}`;
}

/** Undefined for a route that matches. */
function missOf(route: Route<Policy>, request: Asked, path: string): string | undefined {
  const matches = (part: Omit<Route<Policy>, 'value'>) =>
    compileMatcher([{ ...part, value: route.value }])(request.method, request.host, path) !==
    undefined;
  if (matches(route)) return undefined;
  const misses = [
    ...(matches({ path: route.path }) ? [] : [`path ${route.path}`]),
    ...(matches({ host: route.host }) ? [] : [`host ${route.host}`]),
    ...(matches({ methods: route.methods }) ? [] : [`method ${route.methods?.join(', ')}`]),
  ];
  return `is for ${misses.join(' and ')}`;
}
