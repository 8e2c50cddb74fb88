/** Turns what a call counted into its answer, and into the decision that operators see. */
import type { HeaderNames } from '../config/settings/environment.ts';
import type { Decision } from '../core/counting/decision.ts';
import type { AnswerStyle } from '../core/matching/policy-set.ts';
import { contentType, denialBody } from '../dialects/shared/body.ts';
import { retryAfterSeconds } from '../dialects/shared/quota-headers.ts';
import {
  type DescriptorStatus,
  type RateLimitAnswer,
  type RateLimitCall,
  UNLIMITED,
} from './call.ts';
import type { CountedShare } from './counting/counted-share.ts';
import type { Planned } from './counting/plan.ts';
import { decisionOf } from './decision-of.ts';
import type { AnswerEvents, AnsweredCall, HitOutcome } from './events.ts';
import { metadataOf } from './metadata.ts';
import { isNear, statusOf } from './status.ts';

export interface AnswerTerms {
  /** Names of the headers for the client; undefined: none. */
  readonly headers: HeaderNames | undefined;
  /** Whether a denial has a body, a `Retry-After` and a decision id. */
  readonly hasBody: boolean;
  /** Whether the answer describes the call in its dynamic metadata. */
  readonly hasMetadata: boolean;
  /** Whether no call is over its limits: it only says so of its descriptors. */
  readonly isShadow: boolean;
  readonly style: AnswerStyle;
}

export type Conclude = (
  call: RateLimitCall,
  planned: Planned,
  counted: readonly CountedShare[],
) => AnsweredCall;

const NO_LIMIT: DescriptorStatus = { isOver: false, limit: undefined, remaining: 0, resetAfter: 0 };
const WITHOUT_LIMIT: DescriptorStatus = { ...NO_LIMIT, remaining: UNLIMITED };

export function createAnswering(terms: AnswerTerms, events: AnswerEvents): Conclude {
  return (call, { unlimited, hasOpenQuota }, counted) => {
    const statuses = call.descriptors.map((_each, index) =>
      unlimited.has(index) ? WITHOUT_LIMIT : NO_LIMIT,
    );
    for (const each of counted) statuses[each.share.index] = statusOf(each);
    const isOver = isCallOver(counted, hasOpenQuota);
    const decided = decisionOf(
      counted.filter(({ share }) => !share.isShadow),
      isOver,
    );
    report(counted, events);
    if (isOver && terms.isShadow) events.wouldDeny(events.name(decided, true));
    const isDenied = isOver && !terms.isShadow;
    const decision = isDenied ? events.name(decided, false) : allowed(decided.decision);
    const answer: RateLimitAnswer = {
      isOver: isDenied,
      statuses,
      headers: [
        ...quotaHeaders(statuses, counted, terms),
        ...(isDenied && terms.hasBody ? denialHeaders(decision, terms.style) : []),
      ],
      body: isDenied && terms.hasBody ? bodyOf(decision, terms.style) : '',
      metadata: terms.hasMetadata ? metadataOf(call, counted) : undefined,
    };
    return { answer, decision };
  };
}

/** Over if one limit is or an operator blocked a descriptor; of limits in quota mode, if all of them are. */
function isCallOver(counted: readonly CountedShare[], hasOpenQuota: boolean): boolean {
  const over = counted.filter(({ share, isOver }) => isOver && !share.isShadow);
  if (over.some(({ share }) => share.isBlocked || !share.counted.isQuota)) return true;
  if (hasOpenQuota) return false;
  const quotas = counted.filter(({ share }) => share.counted.isQuota);
  return over.length > 0 && over.length === quotas.length;
}

function allowed(decision: Decision): Decision {
  if (decision.verdict === 'allow') return decision;
  return { ...decision, verdict: 'allow', reason: 'not_enforced' };
}

function report(counted: readonly CountedShare[], events: AnswerEvents): void {
  for (const each of counted) {
    const { share, isOver } = each;
    events.counted(share.metric, outcomeOf(each), Math.max(0, share.hits));
    if (isOver && share.isShadow) events.wouldDeny(events.name(decisionOf([each], true), true));
  }
}

function outcomeOf(counted: CountedShare): HitOutcome {
  if (counted.isOver) return counted.share.isShadow ? 'shadow_over' : 'over';
  return isNear(counted) ? 'near' : 'within';
}

/** Of the limit with the least remaining or, if the call is over, of the last one that it is over. */
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
    ({ share, isOver }) => isOver && !share.isShadow && !share.counted.isQuota,
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
  const seconds = retryAfterSeconds(decision, style);
  return [
    ...['Content-Type', contentType(style)],
    ...(seconds === undefined ? [] : ['Retry-After', String(seconds)]),
    ...(id === undefined ? [] : ['X-RateLimit-Decision-Id', id]),
  ];
}

/** Envoy's status for a denial is 429, unless its `rate_limited_status` says otherwise. */
const STATUS = 429;

function bodyOf(decision: Decision, style: AnswerStyle): string {
  const seconds = retryAfterSeconds(decision, style);
  return denialBody(decision, style, { status: STATUS, retryAfterSeconds: seconds });
}
