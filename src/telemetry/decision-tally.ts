/** Decisions by the policy that spoke and what came of them. */
import type { Decision } from '../core/decision.ts';

/** Counts per decision, and is read when it is scraped: looking up labels each time costs ten times as much. */
export class DecisionTally {
  readonly #byPolicy = new Map<string, Map<string, number>>();

  add(decision: Decision): void {
    const verdict = verdictLabel(decision);
    let counts = this.#byPolicy.get(decision.policy);
    if (counts === undefined) {
      counts = new Map();
      this.#byPolicy.set(decision.policy, counts);
    }
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }

  *counts(): Generator<[{ policy: string; verdict: string }, number]> {
    for (const [policy, counts] of this.#byPolicy) {
      for (const [verdict, count] of counts) yield [{ policy, verdict }, count];
    }
  }
}

/** What nobody counted has a verdict of its own. */
function verdictLabel({ verdict, mode, reason }: Decision): string {
  if (reason === 'exempt' || reason === 'blocked') return reason;
  if (mode === 'open') return 'error_allow';
  if (mode === 'closed') return 'error_deny';
  return verdict;
}
