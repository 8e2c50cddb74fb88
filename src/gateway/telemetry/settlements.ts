/** Limits that charge afterwards: what was reserved, what was settled, and policies whose outcomes nobody reports. */
import type { TelemetryContext } from './context.ts';
import {
  ERROR,
  KEEP_FOR_REPORT,
  type LogLines,
  MOST_LISTED,
  ONE_A_MINUTE,
} from './log/log-line.ts';
import { countAtScrape, type MetricRows } from './metrics.ts';
import { ReportedOutcomes } from './reported-outcomes.ts';

const runbook = 'HeadgateReservationsUnsettled';

export const SETTLEMENT_LINES = {
  reservations_unsettled: {
    level: 'warn',
    message:
      'no outcomes are reported, so reservations of these policies stay counted: have the application or Envoy report them, see docs/charging-afterwards.md',
    fields: {
      policies: `a list of the names of the first ${MOST_LISTED}`,
      more: 'how many more there are',
    },
    meaning:
      'Their requests reserve units, but for 5 minutes, or for `HEADGATE_SETTLE_WITHIN` if that is shorter, no gateway got an outcome. Gateways look for that every 30 seconds.',
    runbook,
    atMost: 'one, until other policies are concerned',
  },
  report_refused: {
    level: 'warn',
    message:
      'a report to POST /settle had no secret or a wrong one and was answered 403, so its reservation stays counted: give the application the HEADGATE_SETTLE_SECRET of the gateway',
    fields: {},
    meaning:
      'An application of yours sends no secret or another one in `X-Headgate-Settle-Secret`; or the caller is not an application of yours.',
    runbook,
    atMost: ONE_A_MINUTE,
  },
  settlements_lost: {
    level: 'error',
    message: 'settlements were lost: these reservations stay counted',
    fields: { settlements: 'how many since the line before' },
    meaning:
      'Redis did not take them within the life of their tokens, more than 10,000 were waiting, or the gateway ended.',
    runbook: 'HeadgateStoreDegraded',
    atMost: ONE_A_MINUTE,
  },
  settlement_cut: {
    level: 'warn',
    message:
      'a request took more than it reserved, by more than a whole limit: the rest is not charged',
    fields: { limit: 'the limit', units: 'how many units are not charged' },
    meaning: 'One settlement adds at most the number of the limit. Check what the channel reports.',
    runbook,
    atMost: ONE_A_MINUTE,
  },
  settlement_failed: {
    level: 'error',
    message: 'a settlement failed because of a fault: its reservation stays counted',
    fields: { err: ERROR },
    meaning: KEEP_FOR_REPORT,
    atMost: ONE_A_MINUTE,
  },
} as const satisfies LogLines;

const SETTLEMENT_METRICS = {
  headgate_reservations_total: {
    help: 'Requests that reserved units until their outcome is known, by policy.',
    labels: ['policy'],
  },
  headgate_settlements_total: {
    help: 'Outcomes of requests by policy (none if the token names none of the policy file), channel and result. One that waits counts again with its result. A report without the secret is refused.',
    labels: ['policy', 'channel', 'result'],
  },
  headgate_settlements_waiting: {
    help: 'Settlements that wait until Redis takes them.',
  },
} as const satisfies MetricRows;

export function createSettlementEvents({ linesOf, metricsOf, now, isFirst }: TelemetryContext) {
  const write = linesOf(SETTLEMENT_LINES);
  const metrics = metricsOf(SETTLEMENT_METRICS);
  const outcomes = new ReportedOutcomes();
  countAtScrape(metrics.headgate_reservations_total, () => outcomes.reservations());
  countAtScrape(metrics.headgate_settlements_total, () => outcomes.settlements());
  let lostSinceLine = 0;
  let listed = '';
  const events = {
    reserved: (policy: string): void => outcomes.reserved(policy, now()),
    counted(policy: string, channel: string, result: string): void {
      outcomes.counted(policy, channel, result);
      outcomes.settled(policy, result, now());
    },
    /** A report without the secret. */
    refused(): void {
      events.counted('none', 'settle', 'refused');
      write('report_refused', {});
    },
    cut: (limit: string, units: number): void => write('settlement_cut', { limit, units }),
    waiting: (settlements: number): void => metrics.headgate_settlements_waiting.set(settlements),
    lost(settlements: number): void {
      lostSinceLine += settlements;
      if (!isFirst('lost')) return;
      write('settlements_lost', { settlements: lostSinceLine });
      lostSinceLine = 0;
    },
    failed: (error: unknown): void => write('settlement_failed', { err: error }),
    /** The policies for which no gateway got an outcome. */
    unsettled(names: readonly string[]): void {
      const isKnown = names.join('\n') === listed;
      listed = names.join('\n');
      if (isKnown || names.length === 0) return;
      const policies = names.slice(0, MOST_LISTED);
      write('reservations_unsettled', { policies, more: names.length - policies.length });
    },
  };
  return { settlements: events, outcomes };
}
