/** Takes a request from the limits of its policies, and decides by what the store answers. */
import type { RequestContext } from '../check-context.ts';
import type { NameDenial } from '../denial-naming.ts';
import type { ClientIdentity } from '../identity/identity.ts';
import { traceLimits, traceQuotas } from '../limit-trace.ts';
import { modeOf, type PolicyModes } from '../overrides.ts';
import type { Policy, PolicyMode } from '../policy.ts';
import { type Decision, decide, notEnforced } from './decision.ts';
import { describe, type LimitDescriptor } from './descriptor.ts';
import type { LocalLimiter } from './local-limiter.ts';
import { type QuotaStore, StoreError, type TakeResult } from './store.ts';
import { decideWithoutStore, isCountedLocally } from './store-failure.ts';

export interface CountingOptions {
  readonly store: Pick<QuotaStore, 'take'>;
  readonly local: LocalLimiter;
  readonly events: { wouldDeny(decision: Decision): void };
  readonly name: NameDenial;
  /** For denials by policies in shadow mode. */
  readonly nameShadow: NameDenial;
}

/** `applied` are the policies that apply to the request: at least one. */
export type Count = (
  client: ClientIdentity,
  applied: readonly Policy[],
  context: RequestContext,
) => Decision | Promise<Decision>;

export function createCounting(options: CountingOptions): Count {
  const { store, local, name } = options;
  const takeShadow = createShadowTaking(options);

  return (client, applied, context) => {
    const { modes } = context.overrides;
    const enforced = inMode('enforce', applied, modes);
    /** Policies in shadow mode count only requests that are allowed. */
    const conclude = (decision: Decision) => {
      if (enforced !== applied && decision.verdict === 'allow') {
        // Each policy is taken alone: a denial by one must not keep another from counting.
        for (const shadow of inMode('shadow', applied, modes)) {
          void takeShadow(describe([shadow], client, context), client, context);
        }
      }
      return name(decision, client, context.headers);
    };
    if (enforced.length === 0) return conclude(notEnforced(applied[0] as Policy));
    const descriptors = describe(enforced, client, context);
    if (context.trace) traceLimits(descriptors, context.trace);
    const taken = store.take(descriptors);
    // A store that answers without a promise is in this process and never fails.
    if (!(taken instanceof Promise)) return conclude(measure(descriptors, taken, context));
    return taken.then(
      (result) => {
        if (result.admitted) recordLocally(local, descriptors);
        return conclude(measure(descriptors, result, context));
      },
      (error: unknown) => {
        if (!(error instanceof StoreError)) throw error;
        return name(decideWithoutStore(enforced, descriptors, local), client, context.headers);
      },
    );
  };
}

/** Most requests have enforced policies only: they get the same array back. */
function inMode(mode: PolicyMode, policies: readonly Policy[], modes: PolicyModes) {
  const isInMode = (policy: Policy) => modeOf(policy, modes) === mode;
  return policies.every(isInMode) ? policies : policies.filter(isInMode);
}

function measure(
  descriptors: readonly LimitDescriptor[],
  result: TakeResult,
  { trace }: RequestContext,
): Decision {
  if (trace) traceQuotas(descriptors, result, trace);
  return decide(descriptors, result, 'enforced');
}

/** The local limiter must know what the store admitted, or its clients would start again with full limits. */
function recordLocally(local: LocalLimiter, descriptors: readonly LimitDescriptor[]): void {
  if (descriptors.some(isCountedLocally)) local.record(descriptors.filter(isCountedLocally));
}

/** The request is decided already, so a store failure changes nothing. */
function createShadowTaking({ store, events, nameShadow }: CountingOptions) {
  return async (
    descriptors: readonly LimitDescriptor[],
    client: ClientIdentity,
    { headers }: RequestContext,
  ) => {
    try {
      const decision = decide(descriptors, await store.take(descriptors), 'enforced');
      if (decision.verdict === 'deny') events.wouldDeny(nameShadow(decision, client, headers));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  };
}
