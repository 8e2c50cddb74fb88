import type { Decision } from '../../core/counting/decision.ts';
import { partitionOf } from '../../core/counting/descriptor.ts';
import type { TelemetryContext } from '../context.ts';
import type { FieldsOf } from '../log/log-line.ts';
import { countAtScrape, FAST_BUCKETS, type MetricRows } from '../metrics.ts';
import { DECISION_LINES } from './decision-lines.ts';

type Lines = typeof DECISION_LINES;

const DECISION_METRICS = {
  headgate_decisions_total: {
    help: 'Decisions by limiting policy and verdict.',
    labels: ['policy', 'verdict'],
  },
  headgate_identity_total: {
    help: 'Requests by the source that identified the client.',
    labels: ['kind'],
  },
  headgate_plan_total: {
    help: 'Requests of clients with a plan, by plan: unknown if no policy has limits for it.',
    labels: ['plan'],
  },
  headgate_unmatched_total: { help: 'Requests that matched no policy and got the default.' },
  headgate_decision_duration_seconds: {
    help: 'From the arrival of a check to its response.',
    buckets: FAST_BUCKETS,
  },
  headgate_repeated_checks_total: {
    help: 'Checks of a request that was decided a moment before, answered with the same decision.',
  },
  headgate_remembered_denials_total: {
    help: 'Requests denied from the denial cache, without a round trip to the store.',
  },
  headgate_degraded_decisions_total: {
    help: 'Decisions made without the store, by mode: local, open or closed.',
    labels: ['mode'],
  },
  headgate_requests_shed_total: {
    help: 'Requests that were not counted because the event loop was overloaded.',
  },
  headgate_requests_abandoned_total: {
    help: 'Requests whose proxy gave up before headgate could look at them. They were neither decided nor counted.',
  },
  headgate_check_faults_total: {
    help: 'Checks answered 500 because of a fault in headgate. headgate_connection_faults_total counts connections that were closed without an answer.',
    labels: ['dialect'],
  },
} as const satisfies MetricRows;

/** `onRequest` is called for every answer. */
export function createDecisionEvents(
  { linesOf, metricsOf }: TelemetryContext,
  onRequest: () => void,
) {
  const write = linesOf(DECISION_LINES);
  const metrics = metricsOf(DECISION_METRICS);
  const tally = new DecisionTally();
  countAtScrape(metrics.headgate_decisions_total, () => tally.counts());
  const identities = new Map<string, number>();
  countAtScrape(metrics.headgate_identity_total, () =>
    [...identities].map(([kind, count]) => [{ kind }, count] as const),
  );
  const plans = new Map<string, number>();
  countAtScrape(metrics.headgate_plan_total, () =>
    [...plans].map(([plan, count]) => [{ plan }, count] as const),
  );
  const repeated = metrics.headgate_repeated_checks_total;
  const duration = metrics.headgate_decision_duration_seconds;
  const withoutStore = metrics.headgate_degraded_decisions_total;
  // Looking up a label for each decision costs more than counting.
  const degraded = {
    local: withoutStore.labels('local'),
    open: withoutStore.labels('open'),
    closed: withoutStore.labels('closed'),
  };
  const sampled = { oneIn: 0, allows: 0 };
  const decisions = {
    /** A check was answered with this decision. Milliseconds. */
    decided(decision: Decision, dialect: string, durationMs: number): void {
      onRequest();
      if (decision.isRepeated) {
        repeated.inc();
        return;
      }
      tally.add(decision);
      if (decision.mode !== 'enforced') degraded[decision.mode].inc();
      duration.observe(durationMs / 1000);
      if (sampled.oneIn === 0 || decision.verdict === 'deny') return;
      if (++sampled.allows % sampled.oneIn !== 0) return;
      write('allowed', { ...allowLine(decision, dialect, durationMs), one_in: sampled.oneIn });
    },
    wouldDeny: (decision: Decision): void => tally.addShadow(decision),
    denied: (line: FieldsOf<Lines, 'denied'>): void => write('denied', line),
    wouldBeDenied: (line: FieldsOf<Lines, 'would_be_denied'>): void =>
      write('would_be_denied', line),
    identified: (kind: string) => void identities.set(kind, (identities.get(kind) ?? 0) + 1),
    /** `plan`: undefined if no policy has it. What clients and proxies write is no label. */
    planned(plan: string | undefined): void {
      const name = plan ?? 'unknown';
      plans.set(name, (plans.get(name) ?? 0) + 1);
      if (plan === undefined) write('plan_unknown', {});
    },
    unmatched: (): void => metrics.headgate_unmatched_total.inc(),
    denialRemembered: (): void => metrics.headgate_remembered_denials_total.inc(),
    checkFailed(dialect: string, error: unknown): void {
      metrics.headgate_check_faults_total.inc({ dialect });
      write('check_failed', { dialect, err: error });
    },
    requestAbandoned: (): void => metrics.headgate_requests_abandoned_total.inc(),
    /** The event loop is overloaded, so a request was not counted. */
    requestShed(): void {
      metrics.headgate_requests_shed_total.inc();
      write('requests_shed', {});
    },
  };
  return {
    decisions,
    /** From now on, one in so many allowed requests is logged; none if 0. */
    sampleAllows: (oneIn: number) => void Object.assign(sampled, { oneIn }),
    totals: () => tally.totals(),
  };
}

function allowLine(
  { policy, reason, mode, binding }: Decision,
  dialect: string,
  durationMs: number,
) {
  return {
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    counted: binding && partitionOf(binding.key),
    remaining: binding?.state.remaining,
    dialect,
    duration_ms: durationMs,
  };
}

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
