/** The way from a proxy's question to its answer, the same for both servers. */
import type { Check } from '../core/check.ts';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { AnswerStyle, PolicySet } from '../core/policy-set.ts';
import { EndOfTurn } from './end-of-turn.ts';

export interface AnsweringOptions {
  readonly check: Check;
  readonly policies: { readonly current: PolicySet };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onDecided: (decision: Decision, dialect: string, durationMs: number) => void;
  readonly onMisconfigured: (dialect: string, missing: readonly string[]) => void;
  readonly onFault: (dialect: string, error: unknown) => void;
}

/** One question, and the way back to who asked it. */
export interface Question {
  /** Its name. */
  readonly dialect: string;
  /** What the proxy asks about. */
  parse(): CheckRequest;
  answer(decision: Decision, style: AnswerStyle): void;
  /** Says "the gateway failed": the proxy's own failure mode decides. */
  fail(): void;
}

export type Answering = (question: Question) => void;

export function createAnswering(options: AnsweringOptions): Answering {
  const { check, policies, now, onDecided, onMisconfigured, onFault } = options;
  const endOfTurn = new EndOfTurn();

  return (question) => {
    const startedMs = performance.now();
    const set = policies.current;
    const fail = (error: unknown) => {
      onFault(question.dialect, error);
      question.fail();
    };
    const answer = (decision: Decision) =>
      endOfTurn.add(() => {
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
      const decision = check(request, set, now());
      if (decision instanceof Promise) decision.then(answer, fail);
      else answer(decision);
    } catch (error) {
      fail(error);
    }
  };
}
