/** The one story of a request: who is asking, which policies apply, is there room. */
import type { CheckRequest } from './check-request.ts';
import {
  AMBIGUOUS_IDENTITY,
  BLOCKED,
  type Decision,
  type Denied,
  decide,
  EXEMPT,
  MALFORMED_HOST,
  MALFORMED_PATH,
  notEnforced,
  unmeasured,
} from './decision.ts';
import { describe, type LimitDescriptor } from './descriptor.ts';
import { isHost } from './host.ts';
import type { ClientIdentity } from './identity.ts';
import { recordLimits } from './limit-reasons.ts';
import type { LocalLimiter } from './local-limiter.ts';
import { modeOf, type Overrides } from './overrides.ts';
import type { Policy, PolicyMode } from './policy.ts';
import type { PolicySet } from './policy-set.ts';
import type { Recorder } from './recorder.ts';
import type { SaltSource } from './salts.ts';
import { type QuotaStore, StoreError } from './store.ts';

export interface CheckOptions {
  readonly store: Pick<QuotaStore, 'take'>;
  /** Takes over for policies with `on_store_failure: local`. */
  readonly local: LocalLimiter;
  readonly salts: SaltSource;
  /** What operators decided, as of now. */
  readonly overrides: { readonly current: Overrides };
  /** What a denial of this client is called: one that is answered, or one that a policy in shadow would have given. */
  readonly newId: (decision: Decision, denied: Denied, isShadow: boolean) => string;
  readonly events: CheckEvents;
}

/** Told of what happens on the way to a decision, which is told of by whoever asked for it. */
export interface CheckEvents {
  /** The source that speaks for the client of each request. */
  identified(kind: string): void;
  /** The proxy is not trusted. */
  untrustedProxy(): void;
  /** Headers that were not believed, since whoever sent them may not set them. */
  headersIgnored(names: readonly string[]): void;
  /** A policy that the proxy names for a route, and that does not exist. */
  policyUnknown(name: string): void;
  /** No policy names the request: it got the default. */
  unmatched(): void;
  /** A policy in shadow would have denied a request that passed. */
  wouldDeny(decision: Decision): void;
}

/** For who looks at decisions alone. */
export const NO_EVENTS: CheckEvents = {
  identified: () => {},
  untrustedProxy: () => {},
  headersIgnored: () => {},
  policyUnknown: () => {},
  unmatched: () => {},
  wouldDeny: () => {},
};

/** Decides by one policy set from beginning to end, whatever is loaded meanwhile. */
export type Check = (
  request: CheckRequest,
  set: PolicySet,
  nowMs: number,
  record?: Recorder,
) => Decision | Promise<Decision>;

export function createCheck(options: CheckOptions): Check {
  const { store, local, salts, overrides, events } = options;

  return (request, set, nowMs, record) => {
    const { current } = overrides;
    const saltsNow = salts.at(nowMs, set.hasLongWindows || current.hasLongAddresses);
    const client = set.identify(request, saltsNow, nowMs, current, record);
    events.identified(client.kind);
    if (client.untrustedProxy) events.untrustedProxy();
    if (client.ignoredHeaders.length > 0) events.headersIgnored(client.ignoredHeaders);
    if (client.access !== undefined) record?.('identity', `the client is ${client.access}`);
    if (client.access === 'blocked') return named(BLOCKED, client);
    if (client.isAmbiguous && client.access !== 'exempt') return named(AMBIGUOUS_IDENTITY, client);
    if (!isHost(request.host)) return named(MALFORMED_HOST, client);
    const { policy } = request;
    if (policy !== undefined && !set.has(policy)) events.policyUnknown(policy);
    const applied = set.policiesFor(request, current.modes, record);
    const [first] = applied;
    if (first === undefined) return named(MALFORMED_PATH, client);
    if (first === set.fallback) events.unmatched();
    if (client.access === 'exempt') return EXEMPT;

    const isIn = (mode: PolicyMode) => (policy: Policy) => modeOf(policy, current.modes) === mode;
    const isEnforced = isIn('enforce');
    const policies = applied.every(isEnforced) ? applied : applied.filter(isEnforced);
    const conclude = (decision: Decision) => {
      if (policies !== applied && decision.verdict === 'allow') {
        // One by one: what one of them would deny is nothing to another.
        for (const shadow of applied.filter(isIn('shadow'))) {
          void takeUnnoticed(describe([shadow], client, saltsNow, nowMs), client);
        }
      }
      return named(decision, client);
    };
    if (policies.length === 0) return conclude(notEnforced(first));
    const descriptors = describe(policies, client, saltsNow, nowMs);
    for (const { source, key } of record ? descriptors : []) {
      record?.('limit', `${source.label}: ${source.description}, per ${source.per}, under ${key}`);
    }
    const taken = store.take(descriptors);
    // A store that answers at once is in this process, and never fails.
    if (!(taken instanceof Promise)) {
      if (record) recordLimits(descriptors, taken, record);
      return conclude(decide(descriptors, taken, 'enforced'));
    }
    return taken.then(
      (result) => {
        if (record) recordLimits(descriptors, result, record);
        if (result.admitted) recordLocally(policies, descriptors);
        return conclude(decide(descriptors, result, 'enforced'));
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

  /** For policies in shadow: the request has its answer, whatever comes of this. */
  async function takeUnnoticed(descriptors: readonly LimitDescriptor[], client: ClientIdentity) {
    try {
      const decision = decide(descriptors, await store.take(descriptors), 'enforced');
      if (decision.verdict === 'deny') events.wouldDeny(named(decision, client, true));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  function named(decision: Decision, client: ClientIdentity, isShadow = false): Decision {
    if (decision.verdict === 'allow') return decision;
    const denied = whoIs(client);
    const id = options.newId(decision, denied, isShadow);
    return { ...decision, denial: { id, ...denied } };
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

function whoIs({ partition, kind, address, apiKey }: ClientIdentity): Denied {
  const isMadeUp = apiKey?.partition === partition && apiKey.unverified;
  return { client: partition, isMadeUp, address, identity: kind };
}

function isLocal({ onStoreFailure }: Policy): boolean {
  return onStoreFailure === 'local';
}
