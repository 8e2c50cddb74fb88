/** The one story of a request: who is asking, which policies apply, is there room. */
import type { CheckRequest } from './check-request.ts';
import { BLOCKED, type Decision, decide, EXEMPT, MALFORMED_PATH, unmeasured } from './decision.ts';
import { describe, type LimitDescriptor } from './descriptor.ts';
import type { ClientIdentity } from './identity.ts';
import type { LocalLimiter } from './local-limiter.ts';
import type { Policy } from './policy.ts';
import type { PolicySet } from './policy-set.ts';
import type { SaltSource } from './salts.ts';
import { type QuotaStore, StoreError } from './store.ts';

export interface CheckOptions {
  readonly store: QuotaStore;
  /** Takes over for policies with `on_store_failure: local`. */
  readonly local: LocalLimiter;
  readonly salts: SaltSource;
  /** What the next denial is called. */
  readonly newId: () => string;
  /** Told of every request whose proxy is not trusted. */
  readonly onUntrustedProxy: () => void;
  /** Told of a policy that a proxy names for a route, and that does not exist. */
  readonly onUnknownPolicy: (name: string) => void;
  /** Told which headers of a request were not believed, since whoever sent them may not set them. */
  readonly onIgnoredHeaders: (names: readonly string[]) => void;
}

/** Decides by one policy set from beginning to end, whatever is loaded meanwhile. */
export type Check = (
  request: CheckRequest,
  set: PolicySet,
  nowMs: number,
) => Decision | Promise<Decision>;

export function createCheck(options: CheckOptions): Check {
  const { store, local, salts } = options;

  return (request, set, nowMs) => {
    const saltsNow = salts.at(nowMs, set.hasLongWindows);
    const client = set.identify(request, saltsNow, nowMs);
    if (client.untrustedProxy) options.onUntrustedProxy();
    if (client.ignoredHeaders.length > 0) options.onIgnoredHeaders(client.ignoredHeaders);
    if (client.access === 'blocked') return named(BLOCKED, client);
    const { policy } = request;
    if (policy !== undefined && !set.has(policy)) options.onUnknownPolicy(policy);
    const policies = set.policiesFor(request);
    if (policies.length === 0) return named(MALFORMED_PATH, client);
    if (client.access === 'exempt') return EXEMPT;

    const descriptors = describe(policies, client, saltsNow, nowMs);
    const taken = store.take(descriptors);
    // A store that answers at once is in this process, and never fails.
    if (!(taken instanceof Promise)) return named(decide(descriptors, taken, 'enforced'), client);
    return taken.then(
      (result) => {
        if (result.admitted) recordLocally(policies, descriptors);
        return named(decide(descriptors, result, 'enforced'), client);
      },
      (error: unknown) => {
        if (!(error instanceof StoreError)) throw error;
        const decision = decideWithout(policies, (measured) =>
          describe(measured, client, saltsNow, nowMs),
        );
        return named(decision, client);
      },
    );
  };

  function named(decision: Decision, { partition, kind }: ClientIdentity): Decision {
    if (decision.verdict === 'allow') return decision;
    return { ...decision, denial: { id: options.newId(), client: partition, identity: kind } };
  }

  /** So that taking over does not begin with a clean slate. */
  function recordLocally(policies: readonly Policy[], descriptors: readonly LimitDescriptor[]) {
    if (!policies.some(isLocal)) return;
    local.record(descriptors.filter(({ source }) => isLocal(source.policy)));
  }

  /** The strictest failure mode among the policies of the request decides. */
  function decideWithout(
    policies: readonly Policy[],
    describeOnly: (policies: readonly Policy[]) => readonly LimitDescriptor[],
  ): Decision {
    const closed = policies.find((policy) => policy.onStoreFailure === 'deny');
    if (closed !== undefined) return unmeasured('closed', closed);
    const measured = policies.filter(isLocal);
    if (measured.length === 0) return unmeasured('open', policies[0] as Policy);
    const descriptors = describeOnly(measured);
    return decide(descriptors, local.take(descriptors), 'local');
  }
}

function isLocal({ onStoreFailure }: Policy): boolean {
  return onStoreFailure === 'local';
}
