/** Decides a request: identifies the client, finds the policies that apply, and takes from their limits. */
import type { RequestContext } from './check-context.ts';
import type { CheckRequest } from './check-request.ts';
import type { CheckSpan } from './check-span.ts';
import { createCounting } from './counting/counting.ts';
import {
  AMBIGUOUS_IDENTITY,
  BLOCKED,
  type Decision,
  EXEMPT,
  MALFORMED_HOST,
  MALFORMED_PATH,
} from './counting/decision.ts';
import { createPolicyCounting } from './counting/policy-counting.ts';
import type { LocalLimiter, QuotaStore } from './counting/store.ts';
import { createDenialNaming, type NewDenialId } from './denial-naming.ts';
import type { ClientIdentity } from './identity/identity.ts';
import type { SaltSource } from './identity/salts.ts';
import { isHost } from './matching/host.ts';
import type { PolicySet } from './matching/policy-set.ts';
import type { Overrides } from './overrides.ts';
import type { Trace } from './trace.ts';

export interface CheckOptions {
  readonly store: Pick<QuotaStore, 'take'>;
  readonly local: LocalLimiter;
  readonly salts: SaltSource;
  readonly overrides: { readonly current: Overrides };
  readonly newId: NewDenialId;
  readonly observer: CheckObserver;
  /** Only if the check is sampled. */
  readonly span?: CheckSpan | undefined;
}

export interface CheckObserver {
  identified(kind: string): void;
  untrustedProxy(): void;
  /** The sender may not set these headers, so their values were ignored. */
  headersIgnored(names: readonly string[]): void;
  /** The proxy names a policy that does not exist. */
  policyUnknown(name: string): void;
  /** The default policy applies. */
  unmatched(): void;
  /** A policy in shadow mode would have denied a request that was allowed. */
  wouldDeny(decision: Decision): void;
  /** For `explain`. Gateways have none, so ordinary requests build no trace events. */
  readonly step?: Trace;
}

export const UNOBSERVED: CheckObserver = {
  identified: () => {},
  untrustedProxy: () => {},
  headersIgnored: () => {},
  policyUnknown: () => {},
  unmatched: () => {},
  wouldDeny: () => {},
};

/** Decides by one policy set from start to end, even if the policy file is reloaded meanwhile. */
export type Check = (
  request: CheckRequest,
  set: PolicySet,
  nowMs: number,
) => Decision | Promise<Decision>;

export function createCheck(options: CheckOptions): Check {
  const { salts, overrides, observer } = options;
  const trace = observer.step;
  const name = createDenialNaming(options.newId);
  const nameShadow = createDenialNaming(options.newId, true);
  const count = createCounting(options);
  const countPolicies = createPolicyCounting({ ...options, count, name, nameShadow });

  return (request, set, nowMs) => {
    const { current } = overrides;
    const saltsNow = salts.at(nowMs, set.hasLongWindows || current.hasLongAddresses);
    const { headers } = request;
    const context: RequestContext = { nowMs, salts: saltsNow, overrides: current, headers, trace };
    const client = set.identify(request, context);
    reportClient(client, observer);
    const refusal = refusalOf(request, client);
    if (refusal !== undefined) return name(refusal, client, headers);
    const { policy } = request;
    if (policy !== undefined && !set.has(policy)) observer.policyUnknown(policy);
    const applied = set.policiesFor(request, current.modes, trace);
    if (applied.length === 0) return name(MALFORMED_PATH, client, headers);
    if (applied[0] === set.fallback) observer.unmatched();
    if (client.access === 'exempt') return EXEMPT;
    return countPolicies(client, applied, context);
  };
}

function reportClient(client: ClientIdentity, observer: CheckObserver): void {
  observer.identified(client.kind);
  if (client.untrustedProxy) observer.untrustedProxy();
  if (client.ignoredHeaders.length > 0) observer.headersIgnored(client.ignoredHeaders);
}

/** The denial of a request that no policy needs to look at. */
function refusalOf({ host }: CheckRequest, client: ClientIdentity): Decision | undefined {
  if (client.access === 'blocked') return BLOCKED;
  if (client.isAmbiguous && client.access !== 'exempt') return AMBIGUOUS_IDENTITY;
  return isHost(host) ? undefined : MALFORMED_HOST;
}
