import type { Decision } from '../../core/counting/decision.ts';

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
/** `denied`: how many of all requests were denied, whichever their verdict; `local` does not tell. */
type Counts = Record<VerdictLabel | 'denied', number>;

export interface PolicyTotals {
  readonly requests: number;
  readonly denials: number;
  /** Requests that it would have denied, in shadow mode. */
  readonly wouldDeny: number;
}

export class DecisionTally {
  /** Few objects for each policy: with thousands of policies, each of them is a cache miss. */
  readonly #byPolicy = new Map<string, Counts>();

  add(decision: Decision): void {
    const counts = this.#countsOf(decision.policy);
    counts[verdictLabel(decision)]++;
    if (decision.verdict === 'deny') counts.denied++;
  }

  addShadow({ policy }: Decision): void {
    this.#countsOf(policy).shadow_deny++;
  }

  /** Only verdicts that a policy has given. */
  *counts(): Generator<[{ policy: string; verdict: string }, number]> {
    for (const [policy, counts] of this.#byPolicy) {
      for (const verdict of VERDICTS) {
        if (counts[verdict] > 0) yield [{ policy, verdict }, counts[verdict]];
      }
    }
  }

  *totals(): Generator<[policy: string, PolicyTotals]> {
    for (const [policy, counts] of this.#byPolicy) yield [policy, totalsOf(counts)];
  }

  #countsOf(policy: string): Counts {
    let counts = this.#byPolicy.get(policy);
    if (counts === undefined) {
      counts = newCounts();
      this.#byPolicy.set(policy, counts);
    }
    return counts;
  }
}

function totalsOf(counts: Counts): PolicyTotals {
  let requests = 0;
  for (const verdict of VERDICTS) if (verdict !== 'shadow_deny') requests += counts[verdict];
  return { requests, denials: counts.denied, wouldDeny: counts.shadow_deny };
}

function newCounts(): Counts {
  return Object.fromEntries(['denied', ...VERDICTS].map((name) => [name, 0])) as Counts;
}

/** Decisions that the store did not count have verdicts apart from `allow` and `deny`. */
function verdictLabel({ verdict, mode, reason }: Decision): VerdictLabel {
  if (reason === 'exempt' || reason === 'blocked') return reason;
  if (mode === 'open') return 'error_allow';
  if (mode === 'closed') return 'error_deny';
  if (mode === 'local') return 'local';
  return verdict;
}
