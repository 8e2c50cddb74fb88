/** Decides the checks of proxies, by the policy set that is in force when they are looked at. */
import type { Check } from '../core/check.ts';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import type { AnswerStyle, PolicySet } from '../core/matching/policy-set.ts';
import type { Handle, Pending } from './handler.ts';

export interface CheckHandlerOptions {
  readonly handle: Handle;
  readonly check: Check;
  readonly policies: { readonly current: PolicySet };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onMisconfigured: (dialect: string, missing: readonly string[]) => void;
  /** Called if the proxy sent all that its dialect requires. What the policy file reads may still be missing. */
  readonly onParsed: (dialect: string, request: CheckRequest, set: PolicySet) => void;
}

/** A check of one protocol. */
export interface PendingCheck {
  /** The dialect's name. */
  readonly dialect: string;
  isGone(): boolean;
  parse(): CheckRequest;
  answer(decision: Decision, style: AnswerStyle): void;
  /** Answers that the gateway failed. The proxy then applies its own failure mode. */
  fail(): void;
}

export type HandleCheck = (pending: PendingCheck) => void;

export function createCheckHandler(options: CheckHandlerOptions): HandleCheck {
  return (pending) => options.handle(new WaitingCheck(pending, options));
}

class WaitingCheck implements Pending<Decision> {
  readonly #pending: PendingCheck;
  readonly #options: CheckHandlerOptions;
  #set: PolicySet | undefined;

  constructor(pending: PendingCheck, options: CheckHandlerOptions) {
    this.#pending = pending;
    this.#options = options;
  }

  get dialect(): string {
    return this.#pending.dialect;
  }

  isGone(): boolean {
    return this.#pending.isGone();
  }

  decide(): Decision | Promise<Decision> {
    const { check, policies, now, onMisconfigured, onParsed } = this.#options;
    const set = policies.current;
    this.#set = set;
    const request = this.#pending.parse();
    if (request.missing.length > 0) onMisconfigured(this.dialect, request.missing);
    else onParsed(this.dialect, request, set);
    return check(request, set, now());
  }

  answer(decision: Decision): Decision {
    this.#pending.answer(decision, (this.#set ?? this.#options.policies.current).answers);
    return decision;
  }

  fail(): boolean {
    this.#pending.fail();
    return true;
  }
}
