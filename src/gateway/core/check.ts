/** Decides a request: identifies the client, finds the policies that apply, and takes from their limits. */
import type { RequestContext } from './check-context.ts';
import type { CheckRequest } from './check-request.ts';
import { type CheckSpan, type CountingOptions, createCounting } from './counting/counting.ts';
import {
  AMBIGUOUS_IDENTITY,
  BLOCKED,
  type Counted,
  type Decision,
  decide,
  EXEMPT,
  MALFORMED_HOST,
  MALFORMED_MCP,
  MALFORMED_PATH,
  notEnforced,
} from './counting/decision.ts';
import { describe } from './counting/descriptor.ts';
import { type Reservation, reservationOf } from './counting/reservation.ts';
import { createDenialNaming, type NewDenialId } from './denial-naming.ts';
import type { ClientIdentity } from './identity/identity.ts';
import type { KeyDirectory } from './identity/key-directory.ts';
import type { SaltSource } from './identity/salts.ts';
import { traceLimits, traceQuotas } from './limit-trace.ts';
import { isHost } from './matching/host.ts';
import { MALFORMED_CALL } from './matching/policies-for.ts';
import type { PolicySet } from './matching/policy-set.ts';
import { modeOf, type Overrides, type PolicyModes } from './overrides.ts';
import type { Policy, PolicyMode } from './policy.ts';
import { isPreflight } from './preflight.ts';
import { type CountedRequest, createShadowCounting } from './shadow-counting.ts';
import type { Trace } from './trace.ts';

export interface CheckOptions extends CountingOptions {
  readonly salts: SaltSource;
  readonly overrides: { readonly current: Overrides };
  /** The keys that the store lists. */
  readonly keys?: KeyDirectory | undefined;
  readonly newId: NewDenialId;
  readonly observer: CheckObserver;
  readonly span?: CheckSpan | undefined;
  /** Makes the token by which an allowed request is settled. Without it, every reservation stays. */
  readonly issueToken?: ((reservation: Reservation) => string) | undefined;
  /**
   * Resolves once a request that arrives now has waited for the store as long as it may, in milliseconds the timeout of the
   * store. An allowed request waits no longer for reservations in shadow mode.
   */
  readonly deadline?: (() => Promise<unknown>) | undefined;
}

export interface CheckObserver {
  identified(kind: string): void;
  untrustedProxy(): void;
  /** The plan of a client; undefined if no policy has a plan of this name. */
  planned(plan: string | undefined): void;
  /** The sender may not set these headers, so their values were ignored. */
  headersIgnored(names: readonly string[]): void;
  policyUnknown(name: string): void;
  unmatched(): void;
  /** A policy in shadow mode would have denied a request that was allowed. */
  wouldDeny(decision: Decision): void;
  /** For `explain`. Gateways have none, so ordinary requests build no trace events. */
  readonly step?: Trace;
}

export const UNOBSERVED: CheckObserver = {
  identified: () => {},
  untrustedProxy: () => {},
  planned: () => {},
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
  const { salts, overrides, keys, observer, deadline } = options;
  const trace = observer.step;
  const name = createDenialNaming(options.newId);
  const countPolicies = createPolicyCounting(options);

  function decideIn(context: RequestContext, request: CheckRequest, set: PolicySet): Decided {
    const client = set.identify(request, context);
    reportClient(client, set, observer);
    const deny = (decision: Decision, applied: readonly Policy[]): Decision => {
      const denial = name(decision, client, request.headers);
      const answers = set.answersFor(request, applied);
      return answers === undefined ? denial : { ...denial, answers };
    };
    const refusal = refusalOf(request, client);
    if (refusal !== undefined) return deny(refusal, NO_POLICIES);
    const { policy } = request;
    if (policy !== undefined && !set.has(policy)) observer.policyUnknown(policy);
    const { modes } = context.overrides;
    const isTrustedProxy = !client.untrustedProxy;
    const applied = set.policiesFor(request, { modes, isTrustedProxy, trace });
    if (applied.length === 0) {
      return deny(applied === MALFORMED_CALL ? MALFORMED_MCP : MALFORMED_PATH, applied);
    }
    if (applied[0] === set.fallback && !isPreflight(request)) observer.unmatched();
    if (client.access === 'exempt') return EXEMPT;
    return countPolicies({ client, applied, context, deny });
  }

  return (request, set, nowMs) => {
    const { current } = overrides;
    const context: RequestContext = {
      nowMs,
      salts: salts.at(nowMs, set.hasLongWindows || current.hasLongAddresses),
      overrides: current,
      keys,
      headers: request.headers,
      estimates: request.estimates,
      late: undefined,
      trace,
    };
    const found = keys && set.lookUpKey(request, context);
    if (found === undefined) return decideIn(context, request, set);
    const late = deadline?.();
    return found.then(() => decideIn({ ...context, late }, request, set));
  };
}

function reportClient(client: ClientIdentity, set: PolicySet, observer: CheckObserver): void {
  const { kind, plan } = client;
  observer.identified(kind);
  if (plan !== undefined) observer.planned(set.hasPlan(plan) ? plan : undefined);
  if (client.untrustedProxy) observer.untrustedProxy();
  if (client.ignoredHeaders.length > 0) observer.headersIgnored(client.ignoredHeaders);
}

function refusalOf({ host }: CheckRequest, client: ClientIdentity): Decision | undefined {
  if (client.access === 'blocked') return BLOCKED;
  if (client.isAmbiguous && client.access !== 'exempt') return AMBIGUOUS_IDENTITY;
  return isHost(host) ? undefined : MALFORMED_HOST;
}

type Decided = Decision | Promise<Decision>;

interface MatchedRequest extends CountedRequest {
  /** The policies that apply to the request: at least one. */
  readonly applied: readonly Policy[];
  readonly deny: (decision: Decision, applied: readonly Policy[]) => Decision;
}

/** The enforced policies decide, those in shadow mode only report. */
function createPolicyCounting(options: CheckOptions) {
  const { observer, span, issueToken, deadline } = options;
  const count = createCounting(options);
  const shadow = createShadowCounting({
    ...options,
    name: createDenialNaming(options.newId, true),
    wouldDeny: (decision) => observer.wouldDeny(decision),
  });

  /** The token of an allowed request. It has what policies in shadow mode reserved in time. */
  function withToken(decision: Decision, groups: readonly Counted[]): Decision {
    const reservation = reservationOf(groups);
    if (reservation === undefined || issueToken === undefined) return decision;
    return { ...decision, settleToken: issueToken(reservation) };
  }

  return (request: MatchedRequest): Decided => {
    const { client, applied, context, deny } = request;
    const { overrides, trace } = context;
    const enforced = inMode('enforce', applied, overrides.modes);
    const reserves = issueToken !== undefined && anySettles(applied);
    const late = context.late ?? (reserves && enforced !== applied ? deadline?.() : undefined);
    const conclude = (decision: Decision, counted: readonly Counted[]): Decided => {
      // Policies in shadow mode count only requests that are allowed.
      if (decision.verdict === 'deny') return deny(decision, applied);
      if (enforced === applied && !reserves) return decision;
      const counts = enforced !== applied && decision.mode === 'enforced';
      const shadows = counts ? inMode('shadow', applied, overrides.modes) : NO_POLICIES;
      for (const each of shadows) if (!(reserves && each.settles)) shadow.count(each, request);
      if (!reserves) return decision;
      const reserved = shadow.reserve(
        shadows.filter((each) => each.settles),
        request,
        late,
      );
      return reserved instanceof Promise
        ? reserved.then((groups) => withToken(decision, [...counted, ...groups]))
        : withToken(decision, [...counted, ...reserved]);
    };
    if (enforced.length === 0) return conclude(notEnforced(applied[0] as Policy), NO_GROUPS);
    const descriptors = describe(enforced, client, context);
    if (trace) traceLimits(descriptors, trace);
    return count(
      { descriptors, late: context.late },
      (counted) => {
        if (trace && counted.mode === 'enforced') traceQuotas(counted, trace);
        const groups = [counted];
        return conclude(decide(groups, undefined, applied[0]?.headers), groups);
      },
      span,
    );
  };
}

/** A loop, because every request asks. */
function anySettles(policies: readonly Policy[]): boolean {
  for (const policy of policies) if (policy.settles) return true;
  return false;
}

const NO_POLICIES: readonly Policy[] = [];
const NO_GROUPS: readonly Counted[] = [];

/** Most requests have enforced policies only: they get the same array back. */
function inMode(mode: PolicyMode, policies: readonly Policy[], modes: PolicyModes) {
  const isInMode = (policy: Policy) => modeOf(policy, modes) === mode;
  return policies.every(isInMode) ? policies : policies.filter(isInMode);
}
