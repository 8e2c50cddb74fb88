/** What the process tells about itself: one function per event, each of them a log line, a metric or both. */
import { type DestinationStream, pino } from 'pino';
import type { Registry } from 'prom-client';
import type { Decision } from '../core/decision.ts';
import { StoreError, type StoreErrorReason } from '../core/store.ts';
import { DenialLog } from './denial-log.ts';
import { createMetrics } from './metrics.ts';
import { createRepeatFilter } from './repeat-filter.ts';

/** A store that answers now and then, or a cluster without one of its nodes, is still degraded. */
const RECOVERED_AFTER_MS = 5_000;
/** A file that is wrong all over has thousands; headgate check lists them. */
const TOLD_MISTAKES = 20;
const FLUSH_EVERY_MS = 1_000;
/** Of a policy. */
const LONGEST_NAME = 64;

export interface Telemetry {
  readonly registry: Registry;
  decided(decision: Decision, dialect: string, durationMs: number): void;
  /** A policy in shadow would have denied a request that passed. */
  wouldDeny(decision: Decision): void;
  /** The source that speaks for the client of a request. */
  identified(kind: string): void;
  /** No policy names a request. */
  unmatched(): void;
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
  /** The script that counts, by its SHA-1. */
  scriptInUse(sha: string): void;
  storeConnected(): void;
  storeConnectionFailed(error: Error): void;
  saltsNotShared(error: Error): void;
  resetsUnheard(reason: unknown): void;
  /** Redis took the heartbeat: it writes, though nobody asks for anything. */
  heartbeatTaken(): void;
  /** The other gateways were not told that this one is there. */
  heartbeatLost(error: unknown): void;
  /** The policies in force, by the digest of their files. */
  policiesInForce(digest: string): void;
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
  /** Writes out what there is to say yet. */
  close(): void;
}

export interface TelemetryOptions {
  readonly level: string;
  readonly version: string;
  /** The number of this process, where there are several. */
  readonly worker?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly destination?: { write(line: string): void };
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { level, worker, now, destination } = options;
  // Whoever reads the lines slowly keeps nobody waiting. What is not written yet at the end is written then.
  const standardOutput = destination === undefined ? pino.destination({ sync: false }) : undefined;
  const base = worker === undefined ? null : { worker };
  const log = pino({ level, base }, destination ?? (standardOutput as DestinationStream));
  const metrics = createMetrics();
  const seldom = createRepeatFilter(now);
  // Looking up labels each time costs more than counting.
  const degradedBy = {
    local: metrics.degradedDecisions.labels('local'),
    open: metrics.degradedDecisions.labels('open'),
    closed: metrics.degradedDecisions.labels('closed'),
  };
  metrics.build.set({ version: options.version, node: process.version }, 1);
  const denials = new DenialLog({
    now,
    write: (line) => log.info({ event: 'denied', ...line }, 'a request was denied'),
  });
  const shadowDenials = new DenialLog({
    now,
    write: (line) => {
      log.info(
        { event: 'would_be_denied', ...line },
        'a policy in shadow would have denied a request',
      );
    },
  });
  const logs = [denials, shadowDenials];
  const flushing = setInterval(() => {
    for (const each of logs) each.flush();
  }, FLUSH_EVERY_MS).unref();
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
  const recoveredUnlessLately = () => {
    if (now() - lastFailureMs >= RECOVERED_AFTER_MS) recovered();
  };

  return {
    registry: metrics.registry,
    decided(decision, dialect, durationMs) {
      if (decision.isRepeated) {
        metrics.repeated.inc();
        return;
      }
      metrics.tally.add(decision);
      if (decision.mode !== 'enforced') degradedBy[decision.mode].inc();
      metrics.decisionDuration.observe(durationMs / 1000);
      if (decision.denial !== undefined) {
        denials.add(decision, decision.denial, { dialect, durationMs });
      }
    },
    wouldDeny(decision) {
      metrics.tally.addShadow(decision);
      if (decision.denial !== undefined) shadowDenials.add(decision, decision.denial);
    },
    identified: (kind) => metrics.identities.add(kind),
    unmatched: () => metrics.unmatched.inc(),
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
      recoveredUnlessLately();
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
    scriptInUse: (sha) => metrics.script.set({ sha }, 1),
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
    heartbeatTaken: () => recoveredUnlessLately(),
    heartbeatLost(error) {
      // A store that is away is told of already.
      if (degraded || !seldom('heartbeat')) return;
      log.warn(
        { event: 'heartbeat_lost', cause: causeText(error) },
        'Redis did not take the heartbeat: gateways may not know how many of them share a limit while it is away',
      );
    },
    policiesInForce(sha256) {
      metrics.config.reset();
      metrics.config.set({ sha256 }, 1);
      metrics.configLoaded.set(Math.floor(now() / 1000));
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
    close() {
      clearInterval(flushing);
      for (const each of logs) each.close();
      standardOutput?.flushSync();
    },
  };
}

/** The first words of a message: enough to know the fault, and no room for an argument of a command. */
function causeText(cause: unknown): string {
  if (cause instanceof StoreError) return cause.message;
  if (!(cause instanceof Error)) return 'unknown';
  const code = (cause as NodeJS.ErrnoException).code;
  return code ?? cause.message.slice(0, 80);
}
