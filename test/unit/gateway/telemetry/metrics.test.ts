/** The metrics by name, type, labels and buckets: dashboards and alerts depend on them. */
import { expect, test } from 'vitest';
import { observedTelemetry } from '../../../support/telemetry.ts';

interface Registered {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly aggregator?: string;
  readonly upperBounds?: readonly number[];
}

const FAST = '0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25';

/** Name, type, how several workers add up, and labels or buckets. */
const METRICS = [
  'active_windows gauge max',
  'build_info gauge max version node',
  'check_faults_total counter sum dialect',
  'config_info gauge max sha256',
  'config_last_reload_successful gauge min',
  'config_last_success_timestamp_seconds gauge max',
  'connection_faults_total counter sum port',
  `decision_duration_seconds histogram sum ${FAST}`,
  'decisions_total counter sum policy verdict',
  'degraded gauge max',
  'degraded_decisions_total counter sum mode',
  'header_seen gauge max dialect header',
  'header_unseen gauge sum dialect header',
  'identity_total counter sum kind',
  'key_changes_missed_total counter sum',
  'key_changes_unread gauge max',
  'key_lookups_total counter sum result',
  'key_records_unreadable_total counter sum',
  'log_lines_lost_total counter sum',
  'misconfigured_requests_total counter sum dialect',
  'operators_refused_total counter sum',
  'overrides gauge max effect',
  'plan_total counter sum plan',
  'policy_reloads_total counter sum result',
  'ratelimit_control_plane_connected gauge min',
  'ratelimit_hits_total counter sum limit outcome',
  'ratelimit_last_reload_successful gauge min',
  'ratelimit_last_success_timestamp_seconds gauge max',
  'remembered_denials_total counter sum',
  'repeated_checks_total counter sum',
  'requests_abandoned_total counter sum',
  'requests_shed_total counter sum',
  'reservations_total counter sum policy',
  'script_info gauge max sha',
  'settlements_total counter sum policy channel result',
  'settlements_waiting gauge sum',
  'store_batch_requests histogram sum 1 2 4 8 16 32 64 128',
  `store_duration_seconds histogram sum ${FAST}`,
  'store_errors_total counter sum reason',
  'store_evicted_keys_total counter sum',
  'store_given_up_total counter sum',
  'store_memory_used_ratio gauge max',
  'strangers_refused_total counter sum',
  'unknown_policy_total counter sum',
  'unmatched_total counter sum',
  'untrusted_header_total counter sum header',
  'untrusted_proxy_requests_total counter sum',
  'workers_lost_total counter sum',
  'workers_unresponsive_total counter sum',
];

const registered = () =>
  observedTelemetry().telemetry.registry.getMetricsAsArray() as unknown as readonly Registered[];

test('there are these metrics of headgate, and no others', () => {
  const ours = registered().filter(({ name }) => name.startsWith('headgate_'));
  const rows = ours.map(({ name, type, aggregator = 'sum', labelNames, upperBounds = [] }) =>
    [name.replace('headgate_', ''), type, aggregator, ...labelNames, ...upperBounds].join(' '),
  );
  expect(rows.sort()).toEqual(METRICS);
});

test('several workers have the start time of the process that started first', () => {
  const started = registered().find(({ name }) => name === 'process_start_time_seconds');
  expect(started?.aggregator).toBe('min');
});

test('every metric says in a sentence what it is', () => {
  for (const { name, help } of registered()) expect(help, name).toMatch(/^[A-Z0-9].*\w/);
});
