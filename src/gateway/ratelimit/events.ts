/** What the rate limit service reports while it answers. */
import type { Decision } from '../core/counting/decision.ts';
import type { RateLimitAnswer } from './call.ts';
import type { Decided } from './decision-of.ts';

export type HitOutcome = 'within' | 'near' | 'over' | 'shadow_over';

export interface AnswerEvents {
  /** Gives a denial its id. With `isShadow`, nobody was denied. */
  name(decided: Decided, isShadow: boolean): Decision;
  /** A rule counted hits. `limit` is its name in metrics. */
  counted(limit: string, outcome: HitOutcome, hits: number): void;
  /** A rule in shadow mode would have denied. */
  wouldDeny(decision: Decision): void;
}

/** An answer, and the decision that metrics, the log and operators see. */
export interface AnsweredCall {
  readonly answer: RateLimitAnswer;
  readonly decision: Decision;
}
