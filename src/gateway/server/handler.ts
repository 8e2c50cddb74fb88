/** From a proxy's request to its answer: the same for checks over HTTP and gRPC, and for calls of the rate limit service. */
import type { Decision } from '../core/counting/decision.ts';
import type { Arrivals } from './arrivals.ts';

/** A request that waits for its answer. */
export interface Pending<Result> {
  /** How logs and metrics name the proxy. */
  readonly dialect: string;
  /** Whether the proxy has disconnected. */
  isGone(): boolean;
  decide(): Result | Promise<Result>;
  /** Sends the answer, unless the proxy is gone. Returns the decision that it is about. */
  answer(result: Result): Decision;
  /** Answers that there is no decision, so the proxy's own failure mode decides. Returns whether the gateway is at fault. */
  fail(error: unknown): boolean;
}

export interface HandlerOptions {
  readonly arrivals: Arrivals;
  readonly onDecided: (decision: Decision, dialect: string, durationMs: number) => void;
  readonly onFault: (dialect: string, error: unknown) => void;
}

export type Handle = <Result>(pending: Pending<Result>) => void;

export function createHandler({ arrivals, onDecided, onFault }: HandlerOptions): Handle {
  return (pending) => {
    const startedMs = performance.now();
    arrivals.add(startedMs, pending, () => run(pending, startedMs));
  };

  function run<Result>(pending: Pending<Result>, startedMs: number): void {
    const fail = (error: unknown) => {
      if (pending.fail(error)) onFault(pending.dialect, error);
    };
    const answer = (result: Result) =>
      arrivals.atEndOfTurn(() => {
        try {
          onDecided(pending.answer(result), pending.dialect, performance.now() - startedMs);
        } catch (error) {
          fail(error);
        }
      });
    try {
      const result = pending.decide();
      if (result instanceof Promise) result.then(answer, fail);
      else answer(result);
    } catch (error) {
      // The caller of this function may be the event loop, where nothing catches an error.
      fail(error);
    }
  }
}
