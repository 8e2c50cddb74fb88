/** The metrics, with their names and meanings. Labels come from policies, verdicts, reasons and dialects, never from clients. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { DecisionTally } from './decision-tally.ts';
import { Tally } from './tally.ts';

/** Seconds. */
const FAST_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const tally = new DecisionTally();
  collectDefaultMetrics({ register: registry });
  // By default several workers have none: they began when their supervisor did.
  const started = registry.getSingleMetric('process_start_time_seconds');
  if (started !== undefined) Object.assign(started, { aggregator: 'min' });
  new Counter({
    name: 'headgate_decisions_total',
    help: 'Decisions by the policy that spoke and its verdict.',
    labelNames: ['policy', 'verdict'],
    registers,
    collect() {
      this.reset();
      for (const [labels, count] of tally.counts()) this.inc(labels, count);
    },
  });
  const identities = new Tally();
  new Counter({
    name: 'headgate_identity_total',
    help: 'Requests by the source that spoke for their client.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const [kind, count] of identities.counts()) this.inc({ kind }, count);
    },
  });
  return {
    registry,
    tally,
    identities,
    unmatched: new Counter({
      name: 'headgate_unmatched_total',
      help: 'Requests that no policy names, and that got the default.',
      registers,
    }),
    build: new Gauge({
      name: 'headgate_build_info',
      help: '1, for the version of headgate and of Node.',
      labelNames: ['version', 'node'],
      aggregator: 'max',
      registers,
    }),
    script: new Gauge({
      name: 'headgate_script_info',
      help: '1, for the SHA-1 of the script that counts in Redis.',
      labelNames: ['sha'],
      aggregator: 'max',
      registers,
    }),
    config: new Gauge({
      name: 'headgate_config_info',
      help: '1, for the policy file in force and the files that it refers to, by the start of their SHA-256.',
      labelNames: ['sha256'],
      aggregator: 'max',
      registers,
    }),
    lastReload: new Gauge({
      name: 'headgate_config_last_reload_successful',
      help: '0 while the policy file has mistakes, and what was in force before stays; else 1.',
      aggregator: 'min',
      registers,
    }),
    configLoaded: new Gauge({
      name: 'headgate_config_last_success_timestamp_seconds',
      help: 'When the policy file in force was read, seconds since the epoch.',
      aggregator: 'max',
      registers,
    }),
    decisionDuration: new Histogram({
      name: 'headgate_decision_duration_seconds',
      help: 'From the arrival of a question to its answer.',
      buckets: FAST_BUCKETS,
      registers,
    }),
    storeDuration: new Histogram({
      name: 'headgate_store_duration_seconds',
      help: 'Round trips to the store.',
      buckets: FAST_BUCKETS,
      registers,
    }),
    batchSize: new Histogram({
      name: 'headgate_store_batch_requests',
      help: 'Requests that shared one round trip.',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128],
      registers,
    }),
    repeated: new Counter({
      name: 'headgate_repeated_checks_total',
      help: 'Questions about a request that was decided a moment before, answered with that decision.',
      registers,
    }),
    unknownPolicies: new Counter({
      name: 'headgate_unknown_policy_total',
      help: 'Questions that name a policy for their route which does not exist.',
      registers,
    }),
    remembered: new Counter({
      name: 'headgate_remembered_denials_total',
      help: 'Requests denied from memory, without asking the store again.',
      registers,
    }),
    activeWindows: new Gauge({
      name: 'headgate_active_windows',
      help: 'Windows that count somebody now: in Redis an estimate from a sample of its keys, every 10 seconds.',
      aggregator: 'max',
      registers,
    }),
    overrides: new Gauge({
      name: 'headgate_overrides',
      help: 'What operators decided for a time and is in force: blocked or exempt clients, policies in another mode, logging.',
      labelNames: ['effect'],
      aggregator: 'max',
      registers,
    }),
    operatorsRefused: new Counter({
      name: 'headgate_operators_refused_total',
      help: 'Calls of the ops API without its token.',
      registers,
    }),
    storeErrors: new Counter({
      name: 'headgate_store_errors_total',
      help: 'Round trips that failed, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    givenUp: new Counter({
      name: 'headgate_store_given_up_total',
      help: 'How often the store was too slow to be asked any more, until it answered again.',
      registers,
    }),
    degradedDecisions: new Counter({
      name: 'headgate_degraded_decisions_total',
      help: 'Decisions that the store had no part in, by mode: local, open or closed.',
      labelNames: ['mode'],
      registers,
    }),
    shed: new Counter({
      name: 'headgate_requests_shed_total',
      help: 'Requests that the store was not asked about, since this process was late with everything.',
      registers,
    }),
    abandoned: new Counter({
      name: 'headgate_requests_abandoned_total',
      help: 'Requests whose proxy gave up before headgate could look at them. They were neither decided nor counted.',
      registers,
    }),
    degraded: new Gauge({
      name: 'headgate_degraded',
      help: '1 while round trips to the store fail, and until none has failed for 5 seconds; once a minute a new connection that counts ends it at once.',
      aggregator: 'max',
      registers,
    }),
    misconfigured: new Counter({
      name: 'headgate_misconfigured_requests_total',
      help: 'Questions without headers that their proxy must send.',
      labelNames: ['dialect'],
      registers,
    }),
    unseenHeaders: new Gauge({
      name: 'headgate_header_unseen',
      help: '1 while none of at least 1,000 requests through a proxy had a header that the policy file needs, 0 once one has it; of several workers, how many see it so.',
      labelNames: ['dialect', 'header'],
      registers,
    }),
    untrusted: new Counter({
      name: 'headgate_untrusted_proxy_requests_total',
      help: 'Questions from a proxy outside identity.trusted_proxies.',
      registers,
    }),
    ignoredHeaders: new Counter({
      name: 'headgate_untrusted_header_total',
      help: 'Headers that were not believed: their sender may not set them, or they name no single address.',
      labelNames: ['header'],
      registers,
    }),
    unauthorized: new Counter({
      name: 'headgate_strangers_refused_total',
      help: 'Calls without the secret that proxies share with the gateway.',
      registers,
    }),
    reloads: new Counter({
      name: 'headgate_policy_reloads_total',
      help: 'How often the policy file, or one that it refers to, was read again, by result; by each worker.',
      labelNames: ['result'],
      registers,
    }),
    workersLost: new Counter({
      name: 'headgate_workers_lost_total',
      help: 'Worker processes that ended by themselves.',
      registers,
    }),
    faults: new Counter({
      name: 'headgate_check_faults_total',
      help: 'Questions answered 500 because of a fault in the gateway.',
      labelNames: ['dialect'],
      registers,
    }),
  };
}
