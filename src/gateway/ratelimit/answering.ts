import type { HeaderNames } from '../config/settings/environment.ts';
import type { AnswerStyle } from '../core/answer-style.ts';
import type { HeaderFields } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import { type Naming, withDenial } from '../core/denial-naming.ts';
import { contentType, denialBody } from '../dialects/shared/denial-body.ts';
import { waitAfter } from '../dialects/shared/retry.ts';
import {
  type AnswerEvents,
  type AnsweredCall,
  type DescriptorStatus,
  type HitOutcome,
  type RateLimitAnswer,
  type RateLimitCall,
  UNLIMITED,
} from './call.ts';
import type { CountedGroup, CountedShare } from './counting/count.ts';
import type { Planned, Share } from './counting/plan.ts';
import { blockedBy, decisionOf, deniedBy } from './decision-of.ts';
import { metadataOf } from './metadata.ts';

export interface AnswerTerms {
  readonly headers: HeaderNames | undefined;
  readonly hasBody: boolean;
  readonly hasMetadata: boolean;
  /** Whether no call is over its limits: it only says so of its descriptors. */
  readonly isShadow: boolean;
  readonly style: AnswerStyle;
}

export interface CountedCall {
  readonly call: RateLimitCall;
  /** Of the caller; they may hold a trace context. */
  readonly headers: HeaderFields;
  readonly planned: Planned;
  readonly groups: readonly CountedGroup[];
}

const NO_LIMIT: DescriptorStatus = {
  isOverLimit: false,
  limit: undefined,
  remaining: 0,
  resetAfter: 0,
};
const WITHOUT_LIMIT: DescriptorStatus = { ...NO_LIMIT, remaining: UNLIMITED };

export function createAnswering(
  terms: AnswerTerms,
  events: AnswerEvents,
): (counted: CountedCall) => AnsweredCall {
  const named = (decision: Decision, shares: readonly Share[], naming: Omit<Naming, 'newId'>) => {
    const denied = deniedBy(decision, shares);
    return denied === undefined
      ? decision
      : withDenial(decision, denied, { ...naming, newId: events.newId });
  };

  function report({ groups, headers }: CountedCall): void {
    for (const group of groups) {
      for (const each of group.shares) {
        const { share, isOverLimit } = each;
        events.counted(share.metric, outcomeOf(each), hitsOf(each, group));
        if (!isOverLimit || !share.isShadow) continue;
        const decision = decisionOf([group], true);
        events.wouldDeny(named(decision, [share], { headers, isShadow: true }));
      }
    }
  }

  return (counted) => {
    const { call, planned, groups, headers } = counted;
    const { blocked } = planned;
    const shares =
      blocked.length > 0 ? blocked.map(blockedShare) : groups.flatMap((each) => each.shares);
    const statuses = call.descriptors.map((_each, index) =>
      planned.unlimited.has(index) ? WITHOUT_LIMIT : NO_LIMIT,
    );
    for (const each of shares) statuses[each.share.index] = statusOf(each, planned.nowMs);
    const isOverLimit = isCallOverLimit(shares, planned.hasOpenQuota);
    report(counted);
    const decided =
      blocked.length > 0 ? blockedBy(blocked) : decisionOf(groups.filter(isEnforced), isOverLimit);
    const decision = isOverLimit
      ? named(decided, enforcedShares(shares), { headers, isShadow: terms.isShadow })
      : decided;
    if (isOverLimit && terms.isShadow) events.wouldDeny(decision);
    const isDenied = isOverLimit && !terms.isShadow;
    const hasBody = isDenied && terms.hasBody;
    const answer: RateLimitAnswer = {
      isOverLimit: isDenied,
      statuses,
      headers: [
        ...quotaHeaders(statuses, shares, terms),
        ...(hasBody ? denialHeaders(decision, terms.style) : []),
      ],
      body: hasBody ? bodyOf(decision, terms.style) : '',
      metadata: terms.hasMetadata ? metadataOf(call, shares) : undefined,
    };
    return { answer, decision: isDenied ? decision : allowed(decided) };
  };
}

function blockedShare(share: Share): CountedShare {
  return { share, isOverLimit: true, state: undefined };
}

function enforcedShares(counted: readonly CountedShare[]): Share[] {
  const enforced = counted.filter(({ share }) => !share.isShadow);
  enforced.sort((a, b) => Number(b.isOverLimit) - Number(a.isOverLimit));
  return enforced.map(({ share }) => share);
}

function isEnforced({ shares }: CountedGroup): boolean {
  return shares.some(({ share }) => !share.isShadow);
}

/** `nowMs`: milliseconds since the epoch. */
function statusOf(counted: CountedShare, nowMs: number): DescriptorStatus {
  const { share, isOverLimit, state } = counted;
  const { rule, rate } = share.counted;
  return {
    isOverLimit: isOverLimit && !share.isShadow,
    limit: rate && { ...rate, name: rule.limitName },
    remaining: isOverLimit ? 0 : (state?.remaining ?? 0),
    resetAfter: Math.ceil(resetAfterMs(counted, nowMs) / 1000),
  };
}

/** Until the window ends; of a sliding one, until the limit is full again or, if the hits are over it, until they fit. */
function resetAfterMs({ share, isOverLimit, state }: CountedShare, nowMs: number): number {
  const { windowMs } = share.counted.limit.quota;
  if (share.counted.isAligned) return windowMs - (nowMs % windowMs);
  if (state === undefined) return 0;
  return isOverLimit ? state.retryAfterMs : state.resetAfterMs;
}

/** If one limit is exceeded or an operator blocked a descriptor; of limits in quota mode, if all of them are exceeded. */
function isCallOverLimit(counted: readonly CountedShare[], hasOpenQuota: boolean): boolean {
  const over = counted.filter(({ share, isOverLimit }) => isOverLimit && !share.isShadow);
  if (over.some(({ share }) => share.isBlocked || !share.counted.isQuota)) return true;
  if (hasOpenQuota) return false;
  const quotas = counted.filter(({ share }) => share.counted.isQuota);
  return over.length > 0 && over.length === quotas.length;
}

function allowed(decision: Decision): Decision {
  if (decision.verdict === 'allow') return decision;
  return { ...decision, verdict: 'allow', reason: 'not_enforced' };
}

/** If another limit denied the hits, only those count that a charge took all the same. */
function hitsOf({ share, isOverLimit, state }: CountedShare, { result }: CountedGroup): number {
  const isUncounted = result?.admitted === false && !isOverLimit;
  return isUncounted ? (state?.taken ?? 0) : share.hits;
}

function outcomeOf(counted: CountedShare): HitOutcome {
  if (counted.isOverLimit) return counted.share.isShadow ? 'shadow_over' : 'over';
  return isNear(counted) ? 'near' : 'within';
}

/** Part of a limit from which on hits are near it, as in envoyproxy/ratelimit. */
const NEAR = 0.8;

function isNear({ share, state }: CountedShare): boolean {
  const { limit } = share.counted.limit.quota;
  return state !== undefined && limit - state.remaining > Math.floor(NEAR * limit);
}

/** Those of the limit with the least remaining or, if the call is over a limit, of the last such limit. */
function quotaHeaders(
  statuses: readonly DescriptorStatus[],
  counted: readonly CountedShare[],
  { headers: names }: AnswerTerms,
): readonly string[] {
  if (names === undefined) return [];
  let shown: DescriptorStatus | undefined;
  for (const status of statuses) {
    if (status.limit !== undefined && status.remaining < (shown?.remaining ?? UNLIMITED)) {
      shown = status;
    }
  }
  const over = counted.findLast(
    ({ share, isOverLimit }) => isOverLimit && !share.isShadow && !share.counted.isQuota,
  );
  if (over !== undefined) shown = statuses[over.share.index];
  if (shown?.limit === undefined) return [];
  const { limit, remaining, resetAfter } = shown;
  return [
    ...[names.limit, String(limit.requestsPerUnit)],
    ...[names.remaining, String(remaining)],
    ...[names.reset, String(resetAfter)],
  ];
}

function denialHeaders(decision: Decision, style: AnswerStyle): readonly string[] {
  const id = decision.denial?.id;
  const seconds = waitAfter(decision, style)?.seconds;
  return [
    ...['Content-Type', contentType(style)],
    ...(seconds === undefined ? [] : ['Retry-After', String(seconds)]),
    ...(id === undefined ? [] : ['X-RateLimit-Decision-Id', id]),
  ];
}

/** Envoy's status for a denial is 429, unless its `rate_limited_status` says otherwise. */
const STATUS = 429;

function bodyOf(decision: Decision, style: AnswerStyle): string {
  return denialBody(decision, { style, status: STATUS, wait: waitAfter(decision, style) });
}
