/** Reports decisions, and requests that got none. */
import type { Decision } from '../../core/counting/decision.ts';
import type { TelemetryContext } from '../context.ts';
import type { FieldsOf } from '../log/log-line.ts';
import { allowLine } from './allow-line.ts';
import { DECISION_LINES } from './decision-lines.ts';
import { createDecisionMetrics } from './decision-metrics.ts';
import type { PolicyTotals } from './decision-tally.ts';

type Lines = typeof DECISION_LINES;

interface DecisionEvents {
  /** A check was answered with this decision. Milliseconds. */
  decided(decision: Decision, dialect: string, durationMs: number): void;
  /** A shadow policy would have denied a request that passed. */
  wouldDeny(decision: Decision): void;
  /** The log line of a denial. */
  denied(line: FieldsOf<Lines, 'denied'>): void;
  /** The log line of a denial by a shadow policy. */
  wouldBeDenied(line: FieldsOf<Lines, 'would_be_denied'>): void;
  /** A source of `identity.sources` identified the client of a request. */
  identified(kind: string): void;
  /** A request matched no policy. */
  unmatched(): void;
  /** A denial came from the denial cache. */
  denialRemembered(): void;
  /** A check was answered 500, because of a fault in headgate. */
  checkFailed(dialect: string, error: unknown): void;
  /** The proxy gave up before headgate looked at its request. */
  requestAbandoned(): void;
  /** The event loop is overloaded: a request was not counted. */
  requestShed(): void;
}

export interface DecisionReports {
  readonly decisions: DecisionEvents;
  /** From now on, one in so many allowed requests is logged; none if 0. */
  sampleAllows(oneIn: number): void;
  /** What each policy decided since the start. */
  totals(): Iterable<readonly [policy: string, PolicyTotals]>;
}

export function createDecisionEvents(context: TelemetryContext): DecisionReports {
  const { isFirst } = context;
  const write = context.linesOf(DECISION_LINES);
  const metrics = createDecisionMetrics(context.registers);
  const { tally, duration, repeated } = metrics;
  // Looking up a label for each decision costs more than counting.
  const degraded = {
    local: metrics.degraded.labels('local'),
    open: metrics.degraded.labels('open'),
    closed: metrics.degraded.labels('closed'),
  };
  let allowsOneIn = 0;
  let allows = 0;

  const decisions: DecisionEvents = {
    decided(decision, dialect, durationMs) {
      if (decision.isRepeated) {
        repeated.inc();
        return;
      }
      tally.add(decision);
      if (decision.mode !== 'enforced') degraded[decision.mode].inc();
      duration.observe(durationMs / 1000);
      if (allowsOneIn === 0 || decision.verdict === 'deny') return;
      if (++allows % allowsOneIn !== 0) return;
      write('allowed', { ...allowLine(decision, dialect, durationMs), one_in: allowsOneIn });
    },
    wouldDeny: (decision) => tally.addShadow(decision),
    denied: (line) => write('denied', line),
    wouldBeDenied: (line) => write('would_be_denied', line),
    identified: (kind) => metrics.identities.add(kind),
    unmatched: () => metrics.unmatched.inc(),
    denialRemembered: () => metrics.remembered.inc(),
    checkFailed(dialect, error) {
      metrics.faults.inc({ dialect });
      write('check_failed', { dialect, err: error });
    },
    requestAbandoned: () => metrics.abandoned.inc(),
    requestShed() {
      metrics.shed.inc();
      if (isFirst('shed')) write('requests_shed', {});
    },
  };
  return {
    decisions,
    sampleAllows(oneIn) {
      allowsOneIn = oneIn;
    },
    totals: () => tally.totals(),
  };
}
