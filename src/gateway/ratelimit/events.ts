import type { Decision } from '../core/counting/decision.ts';
import type { NewDenialId } from '../core/denial-naming.ts';
import type { RateLimitAnswer } from './call.ts';

export type HitOutcome = 'within' | 'near' | 'over' | 'shadow_over';

export interface AnswerEvents {
  readonly newId: NewDenialId;
  /** A rule counted hits. `limit` is its name in metrics. */
  counted(limit: string, outcome: HitOutcome, hits: number): void;
  wouldDeny(decision: Decision): void;
}

/** An answer, and the decision that metrics, the log and operators see. */
export interface AnsweredCall {
  readonly answer: RateLimitAnswer;
  readonly decision: Decision;
}
