/** Finds what a log does not have. A limit that needs it is not evaluated, which is not the same as "0 denied". */
import type { PolicyModes } from '../../../gateway/core/overrides.ts';
import type { Limit, Partition, Policy } from '../../../gateway/core/policy.ts';
import type { MappedField } from '../log-request.ts';

type KnownIdentities = ReturnType<typeof knownIdentities>;

export function knownIdentities(mapping: readonly MappedField[]) {
  const targets = mapping.map(({ target }) => target);
  return {
    apiKey: targets.includes('api_key'),
    user: targets.includes('user'),
    plan: targets.includes('plan'),
    headers: new Set(targets.map((target) => target.replace(/^header:/, ''))),
  };
}

/** `policies` and `limits` give the reason for each that is not evaluated. */
export function evaluabilityOf(policies: readonly Policy[], mapping: readonly MappedField[]) {
  const known = knownIdentities(mapping);
  const limits = new Map<Limit, string>();
  const notEvaluated = new Map<string, string>();
  const ofPlan = known.apiKey || known.plan ? undefined : lacks('API keys', 'api_key');
  for (const policy of policies) {
    const plans = [...policy.plans.values()];
    if (ofPlan !== undefined) for (const limit of plans.flat()) limits.set(limit, ofPlan);
    // A client's plan replaces the limits, so there are several lists, and none may be empty.
    for (const list of [policy.limits, ...(ofPlan === undefined ? plans : [])]) {
      const missing = list.map((limit) => [limit, missingFor(limit.per, known)] as const);
      for (const [limit, reason] of missing) if (reason !== undefined) limits.set(limit, reason);
      const [first] = missing;
      if (first?.[1] !== undefined && missing.every(([, reason]) => reason !== undefined)) {
        notEvaluated.set(policy.name, first[1]);
      }
    }
  }
  return {
    isEvaluated: ({ per }: Limit) => missingFor(per, known) === undefined,
    /** Turns off policies without a limit that can be evaluated. */
    modes: new Map([...notEvaluated.keys()].map((name) => [name, 'off'])) as PolicyModes,
    policies: notEvaluated,
    limits,
  };
}

/** Why a limit of this partition cannot be evaluated, and what to do. Undefined if it can. */
function missingFor(per: Partition, known: KnownIdentities): string | undefined {
  if (per === 'api_key' && !known.apiKey) return lacks('API keys', 'api_key');
  if (per === 'user' && !known.user) return lacks('users', 'user');
  if (!per.startsWith('header:')) return undefined;
  const header = per.slice('header:'.length);
  return known.headers.has(header) ? undefined : lacks(`the header ${header}`, per);
}

function lacks(what: string, mapping: string): string {
  return `the log does not say ${what}; if it has them, use --map ${mapping}=FIELD`;
}
