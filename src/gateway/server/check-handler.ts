/** From a proxy's check to its answer, the same for the HTTP and the gRPC server. */
import type { Check } from '../core/check.ts';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import type { AnswerStyle, PolicySet } from '../core/matching/policy-set.ts';
import type { Arrivals } from './arrivals.ts';

export interface CheckHandlerOptions {
  readonly check: Check;
  readonly policies: { readonly current: PolicySet };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onDecided: (decision: Decision, dialect: string, durationMs: number) => void;
  readonly onMisconfigured: (dialect: string, missing: readonly string[]) => void;
  /** Called if the proxy sent all that its dialect requires. What the policy file reads may still be missing. */
  readonly onParsed: (dialect: string, request: CheckRequest, set: PolicySet) => void;
  readonly onFault: (dialect: string, error: unknown) => void;
  readonly arrivals: Arrivals;
}

/** A check that waits for its answer. */
export interface PendingCheck {
  /** The dialect's name. */
  readonly dialect: string;
  /** Whether the proxy has disconnected. */
  isGone(): boolean;
  parse(): CheckRequest;
  answer(decision: Decision, style: AnswerStyle): void;
  /** Answers that the gateway failed. The proxy then applies its own failure mode. */
  fail(): void;
}

export type HandleCheck = (pending: PendingCheck) => void;

export function createCheckHandler(options: CheckHandlerOptions): HandleCheck {
  const { check, policies, now, onDecided, onMisconfigured, onParsed, onFault, arrivals } = options;

  return (pending) => {
    const startedMs = performance.now();
    arrivals.add(startedMs, pending, () => decide(pending, startedMs));
  };

  function decide(pending: PendingCheck, startedMs: number): void {
    const set = policies.current;
    const fail = (error: unknown) => {
      onFault(pending.dialect, error);
      pending.fail();
    };
    const answer = (decision: Decision) =>
      arrivals.atEndOfTurn(() => {
        try {
          pending.answer(decision, set.answers);
          onDecided(decision, pending.dialect, performance.now() - startedMs);
        } catch (error) {
          fail(error);
        }
      });
    try {
      const request = pending.parse();
      if (request.missing.length > 0) onMisconfigured(pending.dialect, request.missing);
      else onParsed(pending.dialect, request, set);
      const decision = check(request, set, now());
      if (decision instanceof Promise) decision.then(answer, fail);
      else answer(decision);
    } catch (error) {
      fail(error);
    }
  }
}
