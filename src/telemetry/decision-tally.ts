/** Counts decisions by limiting policy and verdict. */
import type { Decision } from '../core/decision.ts';

const VERDICTS = [
  'allow',
  'deny',
  'shadow_deny',
  'exempt',
  'blocked',
  'error_allow',
  'error_deny',
  'local',
] as const;
type VerdictLabel = (typeof VERDICTS)[number];

export class DecisionTally {
  /** Few objects for each policy: with thousands of policies, each of them is a cache miss. */
  readonly #byPolicy = new Map<string, Record<VerdictLabel, number>>();

  add(decision: Decision): void {
    this.#add(decision.policy, verdictLabel(decision));
  }

  /** A shadow policy would have denied. */
  addShadow({ policy }: Decision): void {
    this.#add(policy, 'shadow_deny');
  }

  #add(policy: string, verdict: VerdictLabel): void {
    let counts = this.#byPolicy.get(policy);
    if (counts === undefined) {
      counts = newCounts();
      this.#byPolicy.set(policy, counts);
    }
    counts[verdict]++;
  }

  /** Only verdicts that a policy has given. */
  *counts(): Generator<[{ policy: string; verdict: string }, number]> {
    for (const [policy, counts] of this.#byPolicy) {
      for (const verdict of VERDICTS) {
        if (counts[verdict] > 0) yield [{ policy, verdict }, counts[verdict]];
      }
    }
  }
}

function newCounts(): Record<VerdictLabel, number> {
  return {
    allow: 0,
    deny: 0,
    shadow_deny: 0,
    exempt: 0,
    blocked: 0,
    error_allow: 0,
    error_deny: 0,
    local: 0,
  };
}

/** Decisions that the store did not count have verdicts apart from `allow` and `deny`. */
function verdictLabel({ verdict, mode, reason }: Decision): VerdictLabel {
  if (reason === 'exempt' || reason === 'blocked') return reason;
  if (mode === 'open') return 'error_allow';
  if (mode === 'closed') return 'error_deny';
  if (mode === 'local') return 'local';
  return verdict;
}
