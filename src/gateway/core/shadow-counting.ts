/** Counts policies in shadow mode. They report what they would deny, and decide nothing. */
import type { RequestContext } from './check-context.ts';
import { type CheckSpan, type CountingOptions, createCounting } from './counting/counting.ts';
import { type Counted, type Decision, decide } from './counting/decision.ts';
import { describe } from './counting/descriptor.ts';
import { StoreError } from './counting/store.ts';
import type { NameDenial } from './denial-naming.ts';
import type { ClientIdentity } from './identity/identity.ts';
import type { Policy } from './policy.ts';

export interface ShadowOptions extends CountingOptions {
  readonly name: NameDenial;
  readonly wouldDeny: (decision: Decision) => void;
  readonly span?: CheckSpan | undefined;
}

export interface CountedRequest {
  readonly client: ClientIdentity;
  readonly context: RequestContext;
}

export function createShadowCounting({ name, wouldDeny, span, ...rest }: ShadowOptions) {
  const count = createCounting(rest);

  /** Each policy is counted alone: a denial by one must not keep another from counting. */
  function countPolicy(policy: Policy, { client, context }: CountedRequest) {
    const group = { descriptors: describe([policy], client, context), leavesFailure: true };
    const report = (counted: Counted): Counted => {
      const decision = name(decide([counted]), client, context.headers);
      if (decision.verdict === 'deny') wouldDeny(decision);
      return counted;
    };
    const counting = count(group, report, span);
    return counting instanceof Promise ? counting.catch(ignoreStoreFailure) : counting;
  }

  return {
    /** Nobody waits for it. */
    count: countPolicy,
    /** Waits until all have counted, but not after `late`. Returns those that have. */
    reserve(
      policies: readonly Policy[],
      request: CountedRequest,
      late: Promise<unknown> | undefined,
    ): readonly Counted[] | Promise<readonly Counted[]> {
      const groups: Counted[] = [];
      const counting: Promise<unknown>[] = [];
      const keep = (counted: Counted | undefined) => counted && groups.push(counted);
      for (const policy of policies) {
        const counted = countPolicy(policy, request);
        if (counted instanceof Promise) counting.push(counted.then(keep));
        else keep(counted);
      }
      if (counting.length === 0) return groups;
      const all = Promise.all(counting);
      return (late === undefined ? all : Promise.race([all, late])).then(() => [...groups]);
    },
  };
}

/** The request is decided already, so a store failure changes nothing. */
function ignoreStoreFailure(error: unknown): undefined {
  if (!(error instanceof StoreError)) throw error;
  return undefined;
}
