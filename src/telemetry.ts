/** What the process tells about itself: one function per event, each of them a log line, a metric or both. */
import { pino } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Decision } from './core/decision.ts';
import { StoreError, type StoreErrorReason } from './core/store.ts';

const REPEAT_AFTER_MS = 60_000;
/** A store that answers now and then, or a cluster without one of its nodes, is still degraded. */
const RECOVERED_AFTER_MS = 5_000;
/** A file that is wrong all over has thousands; headgate check lists them. */
const TOLD_MISTAKES = 20;
/** Of a policy. */
const LONGEST_NAME = 64;
const FAST_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

export interface Telemetry {
  readonly registry: Registry;
  decided(decision: Decision, durationMs: number): void;
  checkFailed(dialect: string, error: unknown): void;
  proxyMisconfigured(dialect: string, missing: readonly string[]): void;
  /** A proxy names a policy for a route, and there is none of that name. */
  policyUnknown(name: string): void;
  untrustedProxy(): void;
  /** Headers that were not believed. Names, which the policy file and the dialects know. */
  headersIgnored(names: readonly string[]): void;
  /** A call without the secret that proxies share with the gateway. */
  strangerRefused(): void;
  /** The check port can be reached from other machines, by anybody who finds it. */
  checkPortOpen(): void;
  storeAnswered(durationMs: number, requests: number): void;
  storeFailed(reason: StoreErrorReason, cause: unknown): void;
  /** It was too slow, and is not asked until it answers again. */
  storeGivenUp(): void;
  /** This process has more to do than it can: the store was not asked. */
  requestShed(): void;
  denialRemembered(): void;
  storeConnected(): void;
  storeConnectionFailed(error: Error): void;
  saltsNotShared(error: Error): void;
  resetsUnheard(reason: unknown): void;
  /** The other gateways were not told that this one is there. */
  heartbeatLost(error: unknown): void;
  policiesLoaded(count: number): void;
  /** Each mistake as `file:line:column: path: what is wrong`. */
  policiesRefused(mistakes: readonly string[]): void;
  policyNote(note: string): void;
  /** A worker ended that should not have. */
  workerLost(worker: number, how: string): void;
  workersReplaced(count: number): void;
  /** A new one did not start; the running ones stay. */
  workersKept(why: string): void;
  stopping(signal: string | undefined): void;
  crashed(error: unknown): void;
  stoppedByForce(why: string): void;
  /** Whether round trips to the store failed lately. */
  isDegraded(): boolean;
}

export interface TelemetryOptions {
  readonly level: string;
  /** The number of this process, where there are several. */
  readonly worker?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly destination?: { write(line: string): void };
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { level, worker, now, destination } = options;
  // Nothing is logged for an allowed request, so a line may as well be on disk when it is needed.
  const output = destination ?? pino.destination({ sync: true });
  const log = pino({ level, base: worker === undefined ? null : { worker } }, output);
  const metrics = createMetrics();
  const seldom = createRepeatFilter(now);
  // Looking up labels each time costs more than counting.
  const degradedBy = {
    local: metrics.degradedDecisions.labels('local'),
    open: metrics.degradedDecisions.labels('open'),
    closed: metrics.degradedDecisions.labels('closed'),
  };
  let degraded = false;
  let lastFailureMs = Number.NEGATIVE_INFINITY;
  const fail = () => {
    degraded = true;
    lastFailureMs = now();
    metrics.degraded.set(1);
  };
  const recovered = () => {
    if (!degraded) return;
    degraded = false;
    metrics.degraded.set(0);
    log.info({ event: 'store_recovered' }, 'the store answers again');
  };

  return {
    registry: metrics.registry,
    decided(decision, durationMs) {
      if (decision.isRepeated) {
        metrics.repeated.inc();
        return;
      }
      metrics.tally.add(decision);
      if (decision.mode !== 'enforced') degradedBy[decision.mode].inc();
      metrics.decisionDuration.observe(durationMs / 1000);
    },
    checkFailed(dialect, error) {
      metrics.faults.inc({ dialect });
      log.error({ event: 'check_failed', dialect, err: error }, 'a check failed: answered 500');
    },
    proxyMisconfigured(dialect, missing) {
      metrics.misconfigured.inc({ dialect });
      if (!seldom(`misconfigured ${dialect}`)) return;
      log.warn(
        { event: 'proxy_misconfigured', dialect, missing },
        'the proxy leaves out headers that it must send: its requests are held to the strictest policy',
      );
    },
    policyUnknown(policy) {
      metrics.unknownPolicies.inc();
      if (!seldom('unknown policy')) return;
      log.warn(
        { event: 'policy_unknown', policy: policy.slice(0, LONGEST_NAME) },
        'a proxy names a policy that does not exist: its requests are matched like any other',
      );
    },
    untrustedProxy() {
      metrics.untrusted.inc();
      if (!seldom('untrusted')) return;
      log.warn(
        { event: 'untrusted_proxy' },
        'a proxy outside identity.trusted_proxies asks: all its requests count for its own address',
      );
    },
    headersIgnored(names) {
      for (const header of names) metrics.ignoredHeaders.inc({ header });
    },
    strangerRefused() {
      metrics.strangers.inc();
      if (!seldom('stranger')) return;
      log.warn(
        { event: 'stranger_refused' },
        'a call without the secret of HEADGATE_PROXY_SECRET was answered 403: a proxy that does not send it, or no proxy',
      );
    },
    checkPortOpen() {
      log.warn(
        { event: 'check_port_open' },
        'the check port can be reached from other machines: whoever does can use up any limit; set HEADGATE_PROXY_SECRET',
      );
    },
    storeAnswered(durationMs, requests) {
      metrics.storeDuration.observe(durationMs / 1000);
      metrics.batchSize.observe(requests);
      if (now() - lastFailureMs >= RECOVERED_AFTER_MS) recovered();
    },
    storeFailed(reason, cause) {
      metrics.storeErrors.inc({ reason });
      const isNew = !degraded;
      fail();
      if (!seldom(`store ${reason}`) && !isNew) return;
      log.error(
        { event: 'store_failed', reason, cause: causeText(cause) },
        'the store does not answer: policies follow their on_store_failure',
      );
    },
    storeGivenUp() {
      metrics.givenUp.inc();
      fail();
    },
    requestShed() {
      metrics.shed.inc();
      if (!seldom('shed')) return;
      log.error(
        { event: 'requests_shed' },
        'this process is late with everything: until it is not, policies follow their on_store_failure',
      );
    },
    denialRemembered: () => metrics.remembered.inc(),
    storeConnected: recovered,
    storeConnectionFailed(error) {
      fail();
      if (!seldom('connection')) return;
      log.warn(
        { event: 'store_connection_failed', cause: causeText(error) },
        'no connection to Redis, trying again',
      );
    },
    saltsNotShared(error) {
      if (!seldom('salts')) return;
      log.error(
        { event: 'salts_not_shared', cause: causeText(error) },
        'the salts of addresses are not in Redis: until they are, each gateway counts addresses by itself',
      );
    },
    resetsUnheard(reason) {
      if (!seldom('resets')) return;
      log.warn(
        { event: 'resets_unheard', cause: causeText(reason) },
        'resets of counts cannot be heard: until they are, denials are not remembered',
      );
    },
    heartbeatLost(error) {
      // A store that is away is told of already.
      if (degraded || !seldom('heartbeat')) return;
      log.warn(
        { event: 'heartbeat_lost', cause: causeText(error) },
        'Redis did not take the heartbeat: gateways may not know how many of them share a limit while it is away',
      );
    },
    policiesLoaded(count) {
      metrics.reloads.inc({ result: 'ok' });
      log.info({ event: 'policies_loaded', policies: count }, 'the policy file was read again');
    },
    policiesRefused(mistakes) {
      metrics.reloads.inc({ result: 'error' });
      const told = mistakes.slice(0, TOLD_MISTAKES);
      log.error(
        { event: 'policies_refused', mistakes: told, more: mistakes.length - told.length },
        'the policy file has mistakes: the policies stay what they were',
      );
    },
    policyNote(note) {
      log.warn({ event: 'policy_note' }, note);
    },
    workerLost(worker, how) {
      metrics.workersLost.inc();
      log.error({ event: 'worker_lost', worker, how }, 'a worker ended, another takes its place');
    },
    workersReplaced(count) {
      log.info({ event: 'workers_replaced', workers: count }, 'every worker was replaced');
    },
    workersKept(why) {
      log.error(
        { event: 'workers_kept', why },
        'a new worker did not start: the others stay what they are',
      );
    },
    stopping(signal) {
      log.info({ event: 'stopping', signal }, 'stopping');
    },
    crashed(err) {
      log.fatal({ event: 'crashed', err }, 'stopping after a fault');
    },
    stoppedByForce(why) {
      log.warn({ event: 'stopped_by_force', why }, 'stopped before everything was answered');
    },
    isDegraded: () => degraded,
  };
}

function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const tally = new DecisionTally();
  collectDefaultMetrics({ register: registry });
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
  return {
    registry,
    tally,
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
    degraded: new Gauge({
      name: 'headgate_degraded',
      help: '1 while round trips to the store fail.',
      aggregator: 'max',
      registers,
    }),
    misconfigured: new Counter({
      name: 'headgate_misconfigured_requests_total',
      help: 'Questions without headers that their proxy must send.',
      labelNames: ['dialect'],
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
    strangers: new Counter({
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

/** Counts per decision, and is read when it is scraped: looking up labels each time costs ten times as much. */
class DecisionTally {
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

/** True for the first of each kind within a minute. */
function createRepeatFilter(now: () => number): (kind: string) => boolean {
  const lastMs = new Map<string, number>();
  return (kind) => {
    const nowMs = now();
    if (nowMs - (lastMs.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MS) return false;
    lastMs.set(kind, nowMs);
    return true;
  };
}

/** The first words of a message: enough to know the fault, and no room for an argument of a command. */
function causeText(cause: unknown): string {
  if (cause instanceof StoreError) return cause.message;
  if (!(cause instanceof Error)) return 'unknown';
  const code = (cause as NodeJS.ErrnoException).code;
  return code ?? cause.message.slice(0, 80);
}
