/** The way from a proxy's question to its answer, the same for both servers. */
import type { Check } from '../core/check.ts';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { AnswerStyle, PolicySet } from '../core/policy-set.ts';
import { Backlog } from './backlog.ts';
import { Turn } from './turn.ts';

export interface CheckHandlerOptions {
  readonly check: Check;
  readonly policies: { readonly current: PolicySet };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onDecided: (decision: Decision, dialect: string, durationMs: number) => void;
  readonly onMisconfigured: (dialect: string, missing: readonly string[]) => void;
  /** A proxy passes on all that its dialect needs; what the policy file needs may still be missing. */
  readonly onParsed: (dialect: string, request: CheckRequest, set: PolicySet) => void;
  readonly onFault: (dialect: string, error: unknown) => void;
  /** A proxy gave up before its request was looked at: nothing was decided or counted. */
  readonly onAbandoned: () => void;
}

/** One question, and the way back to who asked it. */
export interface PendingCheck {
  /** Its name. */
  readonly dialect: string;
  /** Whether the proxy has given up. */
  isGone(): boolean;
  /** What the proxy asks about. */
  parse(): CheckRequest;
  answer(decision: Decision, style: AnswerStyle): void;
  /** Says "the gateway failed": the proxy's own failure mode decides. */
  fail(): void;
}

export type HandleCheck = (question: PendingCheck) => void;

export function createCheckHandler(options: CheckHandlerOptions): HandleCheck {
  const { check, policies, now, onDecided, onMisconfigured, onParsed, onFault } = options;
  const turn = new Turn();
  const backlog = new Backlog(options.onAbandoned);

  return (question) => {
    const startedMs = performance.now();
    if (!turn.isLate(startedMs)) decideOn(question, startedMs);
    else {
      const isGone = () => question.isGone();
      backlog.add({ isGone, work: () => decideOn(question, startedMs) });
    }
  };

  function decideOn(question: PendingCheck, startedMs: number): void {
    const set = policies.current;
    const fail = (error: unknown) => {
      onFault(question.dialect, error);
      question.fail();
    };
    const answer = (decision: Decision) =>
      turn.atEnd(() => {
        try {
          question.answer(decision, set.answers);
          onDecided(decision, question.dialect, performance.now() - startedMs);
        } catch (error) {
          fail(error);
        }
      });
    try {
      const request = question.parse();
      if (request.missing.length > 0) onMisconfigured(question.dialect, request.missing);
      else onParsed(question.dialect, request, set);
      const decision = check(request, set, now());
      if (decision instanceof Promise) decision.then(answer, fail);
      else answer(decision);
    } catch (error) {
      fail(error);
    }
  }
}
