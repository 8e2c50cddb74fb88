/** Counts decisions by limiting policy and verdict. */
import type { Decision } from '../core/decision.ts';
import { Tally } from './tally.ts';

export class DecisionTally {
  readonly #byPolicy = new Map<string, Tally>();

  add(decision: Decision): void {
    this.#add(decision.policy, verdictLabel(decision));
  }

  /** A shadow policy would have denied. */
  addShadow({ policy }: Decision): void {
    this.#add(policy, 'shadow_deny');
  }

  #add(policy: string, verdict: string): void {
    let tally = this.#byPolicy.get(policy);
    if (tally === undefined) {
      tally = new Tally();
      this.#byPolicy.set(policy, tally);
    }
    tally.add(verdict);
  }

  *counts(): Generator<[{ policy: string; verdict: string }, number]> {
    for (const [policy, tally] of this.#byPolicy) {
      for (const [verdict, count] of tally.counts()) yield [{ policy, verdict }, count];
    }
  }
}

/** Decisions that the store did not count have verdicts apart from `allow` and `deny`. */
function verdictLabel({ verdict, mode, reason }: Decision): string {
  if (reason === 'exempt' || reason === 'blocked') return reason;
  if (mode === 'open') return 'error_allow';
  if (mode === 'closed') return 'error_deny';
  if (mode === 'local') return 'local';
  return verdict;
}
