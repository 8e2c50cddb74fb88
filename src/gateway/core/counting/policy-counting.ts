/** Counts a request against its policies: the enforced ones decide, those in shadow mode only report. */
import type { RequestContext } from '../check-context.ts';
import type { CheckSpan } from '../check-span.ts';
import type { NameDenial } from '../denial-naming.ts';
import type { ClientIdentity } from '../identity/identity.ts';
import { modeOf, type PolicyModes } from '../overrides.ts';
import type { Policy, PolicyMode } from '../policy.ts';
import type { Trace } from '../trace.ts';
import type { Count } from './counting.ts';
import { type Counted, type Decision, decide, notEnforced } from './decision.ts';
import { describe, type LimitDescriptor } from './descriptor.ts';
import { StoreError } from './store.ts';

export interface PolicyCountingOptions {
  readonly count: Count;
  readonly observer: { wouldDeny(decision: Decision): void };
  readonly name: NameDenial;
  readonly nameShadow: NameDenial;
  readonly span?: CheckSpan | undefined;
}

/** `applied` are the policies that apply to the request: at least one. */
export type CountPolicies = (
  client: ClientIdentity,
  applied: readonly Policy[],
  context: RequestContext,
) => Decision | Promise<Decision>;

export function createPolicyCounting(options: PolicyCountingOptions): CountPolicies {
  const { count, observer, name, nameShadow, span } = options;

  /** Each policy is counted alone: a denial by one must not keep another from counting. */
  function countShadow(policy: Policy, client: ClientIdentity, context: RequestContext): void {
    const group = { descriptors: describe([policy], client, context), leavesFailure: true };
    const report = (counted: Counted) => {
      const decision = nameShadow(decide([counted]), client, context.headers);
      if (decision.verdict === 'deny') observer.wouldDeny(decision);
    };
    const counting = count(group, report, span);
    if (counting instanceof Promise) counting.catch(ignoreStoreFailure);
  }

  return (client, applied, context) => {
    const { headers, overrides, trace } = context;
    const enforced = inMode('enforce', applied, overrides.modes);
    const conclude = (decision: Decision) => {
      // Policies in shadow mode count only requests that are allowed.
      if (enforced !== applied && decision.verdict === 'allow' && decision.mode === 'enforced') {
        for (const shadow of inMode('shadow', applied, overrides.modes)) {
          countShadow(shadow, client, context);
        }
      }
      return name(decision, client, headers);
    };
    if (enforced.length === 0) return conclude(notEnforced(applied[0] as Policy));
    const descriptors = describe(enforced, client, context);
    if (trace) traceLimits(descriptors, trace);
    return count(
      { descriptors },
      (counted) => {
        if (trace && counted.mode === 'enforced') traceQuotas(counted, trace);
        return conclude(decide([counted]));
      },
      span,
    );
  };
}

/** The request is decided already, so a store failure changes nothing. */
function ignoreStoreFailure(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

/** Most requests have enforced policies only: they get the same array back. */
function inMode(mode: PolicyMode, policies: readonly Policy[], modes: PolicyModes) {
  const isInMode = (policy: Policy) => modeOf(policy, modes) === mode;
  return policies.every(isInMode) ? policies : policies.filter(isInMode);
}

function traceLimits(descriptors: readonly LimitDescriptor[], trace: Trace): void {
  for (const { source, key } of descriptors) {
    const { label, description, per } = source;
    trace({ type: 'limit', label, description, per, key });
  }
}

function traceQuotas({ descriptors, result }: Counted, trace: Trace): void {
  for (const [i, { source, cost }] of descriptors.entries()) {
    trace({
      type: 'quota',
      label: source.label,
      cost,
      isAdmitted: result?.admitted === true,
      state: result?.states[i],
    });
  }
}
