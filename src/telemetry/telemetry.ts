/** What the process tells about itself: one function per event, each of them a log line, a metric or both. */
import type { Registry } from 'prom-client';
import type { Decision, Denied } from '../core/decision.ts';
import type { PoliciesByFailureMode } from '../core/failure-modes.ts';
import type { HeaderWatchEvents, UnseenHeader } from '../core/header-watch.ts';
import type { StoreErrorReason } from '../core/store.ts';
import { Denials } from '../denials/denials.ts';
import type { DeniedClients } from '../denials/denied-clients.ts';
import { allowLine } from './allow-line.ts';
import { causeText } from './cause-text.ts';
import { createLog, type LogOptions } from './log.ts';
import { type FieldsOf, LONGEST_NAME, TOLD_MISTAKES } from './log-lines.ts';
import { createMetrics } from './metrics.ts';
import { createRepeatFilter } from './repeat-filter.ts';
import { doubtText } from './unseen-header.ts';

/**
 * A store that answers now and then, or a cluster without one of its nodes, is still degraded: without this the gauge and
 * the log would change several times a second, and a scrape would miss what lasts for a moment.
 */
const RECOVERED_AFTER_MS = 5_000;
const FLUSH_EVERY_MS = 1_000;

export interface Telemetry extends HeaderWatchEvents {
  readonly registry: Registry;
  decided(decision: Decision, dialect: string, durationMs: number): void;
  /** A policy in shadow would have denied a request that passed. */
  wouldDeny(decision: Decision): void;
  /** What a denial of this client is called. */
  nameDenial(decision: Decision, denied: Denied, isShadow: boolean): string;
  /** Who is denied, and who would be by policies in shadow. */
  readonly denied: Pick<DeniedClients, 'top' | 'find'>;
  readonly wouldBeDenied: Pick<DeniedClients, 'top' | 'find'>;
  /** What is not said of it is as it was at the start. */
  setLogging(logging: Logging): void;
  /** Fields of the audit log, see docs/logs.md. */
  operatorActed(action: OperatorAction): void;
  /** Something that an operator asked for could not be done, by a fault of ours. */
  operationFailed(error: unknown): void;
  /** Somebody called the ops API without the token. */
  operatorRefused(): void;
  /** The overrides in force, a word for what each does. */
  overridesInForce(effects: readonly string[]): void;
  overridesUnread(reason: unknown): void;
  /** Redis had lost so many. */
  overridesRestored(count: number): void;
  /** Windows that count somebody, about. */
  windowsCounted(active: number): void;
  /** The source that speaks for the client of a request. */
  identified(kind: string): void;
  /** No policy names a request. */
  unmatched(): void;
  checkFailed(dialect: string, error: unknown): void;
  /** A proxy gave up before its request was looked at. */
  requestAbandoned(): void;
  proxyMisconfigured(dialect: string, missing: readonly string[]): void;
  /** A proxy names a policy for a route, and there is none of that name. */
  policyUnknown(name: string): void;
  untrustedProxy(): void;
  /** Headers that were not believed. Names, which the policy file and the dialects know. */
  headersIgnored(names: readonly string[]): void;
  /** A call without the secret that proxies share with the gateway. */
  unauthorizedRefused(): void;
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
  /** A new connection to the store counts. */
  storeConnected(): void;
  /** A store that was given up answers a question that no client waits for. */
  storeProbed(): void;
  /** The gateway started, and the store does not count yet. */
  startedUncounted(policies: PoliciesByFailureMode): void;
  storeConnectionFailed(error: Error): void;
  saltsNotShared(error: Error): void;
  othersUnheard(reason: unknown): void;
  /** Redis took the heartbeat: it writes, though nobody asks for anything. */
  heartbeatTaken(): void;
  /** The other gateways were not told that this one is there. */
  heartbeatLost(error: unknown): void;
  /** The policies in force, by the digest of their files. */
  policiesInForce(digest: string): void;
  policiesLoaded(count: number): void;
  /** Names of policies that the file does not have any more. */
  policiesRemoved(names: readonly string[]): void;
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

export interface Logging {
  readonly level?: string | undefined;
  /** One in so many allowed requests has a line; none has if undefined. */
  readonly allowsOneIn?: number | undefined;
}

export type OperatorAction = FieldsOf<'operator_action'>;

export interface TelemetryOptions extends LogOptions {
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { now, level } = options;
  const { write, setLevel, flush } = createLog(options);
  const metrics = createMetrics();
  const seldom = createRepeatFilter(now);
  // Looking up labels each time costs more than counting.
  const degradedBy = {
    local: metrics.degradedDecisions.labels('local'),
    open: metrics.degradedDecisions.labels('open'),
    closed: metrics.degradedDecisions.labels('closed'),
  };
  let allowsOneIn = 0;
  let allows = 0;
  // Of a supervisor, too, which reads no file again.
  metrics.lastReload.set(1);
  metrics.build.set({ version: options.version, node: process.version }, 1);
  const denials = new Denials({ now, write: (line) => write('denied', line) });
  const shadowDenials = new Denials({
    now,
    write: ({ mode: _mode, ...line }) => write('would_be_denied', { ...line, counted_in: 'store' }),
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
    write('store_recovered', {});
  };
  const recoveredUnlessLately = () => {
    // A clock that was set back must not make it last for as long.
    if (Math.abs(now() - lastFailureMs) >= RECOVERED_AFTER_MS) recovered();
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
      const { denial } = decision;
      if (denial !== undefined) {
        denials.add({ decision, denial, answered: { dialect, durationMs } });
      } else if (allowsOneIn > 0 && ++allows % allowsOneIn === 0) {
        write('allowed', { ...allowLine(decision, { dialect, durationMs }), one_in: allowsOneIn });
      }
    },
    nameDenial: (decision, denied, isShadow) =>
      (isShadow ? shadowDenials : denials).clients.name(decision, denied),
    denied: denials.clients,
    wouldBeDenied: shadowDenials.clients,
    setLogging(logging) {
      setLevel(logging.level ?? level);
      allowsOneIn = logging.allowsOneIn ?? 0;
    },
    operatorActed: (action) => write('operator_action', action),
    operationFailed: (error) => write('operation_failed', { err: error }),
    operatorRefused() {
      metrics.operatorsRefused.inc();
      if (seldom('operator')) write('operator_refused', {});
    },
    overridesInForce(effects) {
      metrics.overrides.reset();
      for (const effect of effects) metrics.overrides.inc({ effect });
    },
    overridesUnread(reason) {
      if (degraded || !seldom('overrides')) return;
      write('overrides_unread', { cause: causeText(reason) });
    },
    overridesRestored(overrides) {
      if (seldom('overrides restored')) write('overrides_restored', { overrides });
    },
    windowsCounted: (active) => metrics.activeWindows.set(active),
    wouldDeny(decision) {
      metrics.tally.addShadow(decision);
      const { denial } = decision;
      if (denial !== undefined) shadowDenials.add({ decision, denial, answered: undefined });
    },
    identified: (kind) => metrics.identities.add(kind),
    unmatched: () => metrics.unmatched.inc(),
    checkFailed(dialect, error) {
      metrics.faults.inc({ dialect });
      write('check_failed', { dialect, err: error });
    },
    requestAbandoned: () => metrics.abandoned.inc(),
    proxyMisconfigured(dialect, missing) {
      metrics.misconfigured.inc({ dialect });
      if (!seldom(`misconfigured ${dialect}`)) return;
      write('proxy_misconfigured', { dialect, missing });
    },
    headerUnseen(doubt: UnseenHeader) {
      metrics.unseenHeaders.set({ dialect: doubt.dialect, header: doubt.header }, 1);
      write('header_unseen', doubt, doubtText(doubt));
    },
    headerSeen(dialect, header) {
      metrics.unseenHeaders.set({ dialect, header }, 0);
      write('header_seen', { dialect, header });
    },
    policyUnknown(policy) {
      metrics.unknownPolicies.inc();
      if (!seldom('unknown policy')) return;
      write('policy_unknown', { policy: policy.slice(0, LONGEST_NAME) });
    },
    untrustedProxy() {
      metrics.untrusted.inc();
      if (!seldom('untrusted')) return;
      write('untrusted_proxy', {});
    },
    headersIgnored(names) {
      for (const header of names) metrics.ignoredHeaders.inc({ header });
    },
    unauthorizedRefused() {
      metrics.unauthorized.inc();
      if (!seldom('stranger')) return;
      write('stranger_refused', {});
    },
    checkPortOpen() {
      write('check_port_open', {});
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
      write('store_failed', { reason, cause: causeText(cause) });
    },
    storeGivenUp() {
      metrics.givenUp.inc();
      fail();
    },
    requestShed() {
      metrics.shed.inc();
      if (!seldom('shed')) return;
      write('requests_shed', {});
    },
    denialRemembered: () => metrics.remembered.inc(),
    scriptInUse: (sha) => metrics.script.set({ sha }, 1),
    storeConnected() {
      // A connection that breaks again and again must not fill the log either.
      if (degraded && seldom('reconnected')) recovered();
      else recoveredUnlessLately();
    },
    storeProbed: recoveredUnlessLately,
    startedUncounted(policies) {
      fail();
      write('started_uncounted', policies);
    },
    storeConnectionFailed(error) {
      fail();
      if (!seldom('connection')) return;
      write('store_connection_failed', { cause: causeText(error) });
    },
    saltsNotShared(error) {
      if (!seldom('salts')) return;
      write('salts_not_shared', { cause: causeText(error) });
    },
    othersUnheard(reason) {
      if (!seldom('others')) return;
      write('others_unheard', { cause: causeText(reason) });
    },
    heartbeatTaken: recoveredUnlessLately,
    heartbeatLost(error) {
      // A store that is away is told of already.
      if (degraded || !seldom('heartbeat')) return;
      write('heartbeat_lost', { cause: causeText(error) });
    },
    policiesInForce(sha256) {
      metrics.lastReload.set(1);
      metrics.config.reset();
      // Another file needs other headers.
      metrics.unseenHeaders.reset();
      metrics.config.set({ sha256 }, 1);
      metrics.configLoaded.set(Math.floor(now() / 1000));
    },
    policiesLoaded(count) {
      metrics.reloads.inc({ result: 'ok' });
      write('policies_loaded', { policies: count });
    },
    policiesRemoved(names) {
      const told = names.slice(0, TOLD_MISTAKES);
      write('policies_removed', { policies: told, more: names.length - told.length });
    },
    policiesRefused(mistakes) {
      metrics.reloads.inc({ result: 'error' });
      metrics.lastReload.set(0);
      const told = mistakes.slice(0, TOLD_MISTAKES);
      write('policies_refused', { mistakes: told, more: mistakes.length - told.length });
    },
    policyNote(note) {
      write('policy_note', {}, note);
    },
    workerLost(worker, how) {
      metrics.workersLost.inc();
      write('worker_lost', { worker, how });
    },
    workersReplaced(count) {
      write('workers_replaced', { workers: count });
    },
    workersKept(why) {
      write('workers_kept', { why });
    },
    stopping(signal) {
      write('stopping', { signal });
    },
    crashed(err) {
      write('crashed', { err });
    },
    stoppedByForce(why) {
      write('stopped_by_force', { why });
    },
    isDegraded: () => degraded,
    close() {
      clearInterval(flushing);
      for (const each of logs) each.close();
      flush();
    },
  };
}
