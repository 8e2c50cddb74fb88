/** The composition root: configuration in, something that listens and closes out. */
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Environment } from '../config/settings/environment.ts';
import { canonicalAddress, isLoopback } from '../core/address.ts';
import { createCheck } from '../core/check.ts';
import { byFailureMode } from '../core/failure-modes.ts';
import { HeaderWatch, type UnseenHeader } from '../core/header-watch.ts';
import { countOnce } from '../core/repeated-check.ts';
import { envoyGrpc, HTTP_DIALECTS } from '../dialects/index.ts';
import { answerQuery } from '../operations/denials.ts';
import { createOperate, type Operate } from '../operations/operations.ts';
import { loggingIn, overrideEffects } from '../operations/override.ts';
import { OverrideBook } from '../operations/override-book.ts';
import type { Gateway } from '../operations/running-gateway.ts';
import { DerivedSalts } from '../salts/derived-salts.ts';
import { createCheckHandler } from '../server/check-handler.ts';
import { createCheckServer } from '../server/check-server.ts';
import { createGrpcServer } from '../server/grpc-server.ts';
import { createOpsServer } from '../server/ops-server.ts';
import { openProxyPorts, type PortName, type ProxyPorts } from '../server/proxy-ports.ts';
import { LocalShare } from '../stores/local-share.ts';
import { MemoryStore } from '../stores/memory/memory-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { BackendEvents, StoreAtStart } from './backend.ts';
import { inMemory } from './memory-backend.ts';
import { inRedis } from './redis-backend.ts';
import { Refresher } from './refresher.ts';

/** Salts change once a day, and the next ones are made long before. */
const SALTS_EVERY_MS = 60_000;
/** Overrides are heard of at once; this is for what was not heard. */
const OVERRIDES_EVERY_MS = 5_000;
/** What is under way is answered within the deadline; a caller that has not finished its question then is cut off. */
const CUT_OFF_MS = 500;

export type { PortName };

export interface AppOptions {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Listening extends Pick<ProxyPorts, 'check' | 'grpc'> {
  readonly store: StoreAtStart;
  readonly ops: AddressInfo | undefined;
}

interface Stoppable {
  /** What operators ask, or have done. */
  readonly operate: Operate;
  /** Headers that proxies may not pass on, as this process sees it. */
  unseenHeaders(): readonly UnseenHeader[];
  /**
   * Goes on answering for so many milliseconds, not ready any more: time for whoever asks to notice. Each connection is
   * closed with its next answer.
   */
  drain(durationMs: number): Promise<void>;
  /** Answers what is under way, then lets go of everything. */
  close(): Promise<void>;
}

/** A gateway with its ports. */
export interface App extends Stoppable {
  /** Opens the ports, and answers. */
  listen(): Promise<Listening>;
}

/** A gateway without ports: it answers on the connections that are passed to it. */
export interface Engine extends Stoppable {
  /** Resolves once it can answer, with what it found of its store. */
  start(): Promise<StoreAtStart>;
  /** Answers what is asked on this connection. Returns false if it is closing and left the connection alone. */
  take(port: PortName, connection: Socket): boolean;
}

export function createApp(options: AppOptions): App {
  const { environment, telemetry } = options;
  const engine = createEngine(options);
  const { operate, unseenHeaders, take } = engine;
  const { registry } = telemetry;
  let ready = false;
  let ports: ProxyPorts | undefined;
  const opsServer = createOpsServer({
    metrics: () => registry.metrics(),
    contentType: registry.contentType,
    health: () => ({ ready, degraded: telemetry.isDegraded(), unseenHeaders: unseenHeaders() }),
    operate,
    adminToken: environment.adminToken,
    onRefused: telemetry.operatorRefused,
    onFault: telemetry.operationFailed,
  });
  return {
    operate,
    unseenHeaders,
    async listen() {
      const store = await engine.start();
      await opsServer.listen({ host: environment.opsHost, port: environment.opsPort });
      ports = await openProxyPorts(environment, { pauseOnConnect: false }, take);
      ready = true;
      warnIfOpen(ports, environment, telemetry);
      return { ...ports, store, ops: opsServer.server.address() as AddressInfo };
    },
    async drain(durationMs) {
      ready = false;
      await engine.drain(durationMs);
    },
    async close() {
      ready = false;
      await engine.drain(0);
      await ports?.close();
      await engine.close();
      await opsServer.close();
    },
  };
}

/** Logs that anybody who reaches the ports is answered. */
export function warnIfOpen(
  { check, grpc }: ProxyPorts,
  { proxySecrets }: Environment,
  telemetry: Telemetry,
): void {
  const isOpen = [check, grpc].some((place) => typeof place === 'object' && !isPrivateToUs(place));
  if (isOpen && proxySecrets.length === 0) telemetry.checkPortOpen();
}

export function createEngine(options: AppOptions): Engine {
  const { environment, policies, telemetry, now } = options;
  const memory = new MemoryStore({ now, maxKeys: environment.memoryMaxKeys });
  const events: BackendEvents = {
    onReset: (keys) => void memory.reset(keys),
    // What is read already may not be the latest; what cannot be read is tried again.
    onOverridesChanged: () => void overrides.refresh().catch(() => overrideKeeper.refresh()),
    answer: (question) => answerQuery(gateway, question),
  };
  const backend = environment.redis
    ? inRedis(environment.redis, environment, events, telemetry, now)
    : inMemory(memory, events, telemetry, now);
  const { store, reader, overrideStore } = backend;
  const overrides = new OverrideBook({
    overrideStore,
    now,
    onChange(inForce) {
      telemetry.overridesInForce(overrideEffects(inForce));
      telemetry.setLogging(loggingIn(inForce));
    },
    onRestored: telemetry.overridesRestored,
  });
  const { ipSaltSecret } = environment;
  const salts = ipSaltSecret === undefined ? backend.salts : new DerivedSalts(ipSaltSecret);
  const local = new LocalShare(memory, backend.place);
  const check = createCheck({
    store,
    local,
    salts,
    overrides,
    newId: telemetry.nameDenial,
    events: telemetry,
  });
  const headerWatch = new HeaderWatch(telemetry);
  const unseenHeaders = () => headerWatch.unseen(policies.current);
  const handleCheck = createCheckHandler({
    check: countOnce(check),
    policies,
    now,
    onDecided: telemetry.decided,
    onMisconfigured: telemetry.proxyMisconfigured,
    onParsed: (dialect, request, set) => headerWatch.see(dialect, request, set),
    onFault: telemetry.checkFailed,
    onAbandoned: telemetry.requestAbandoned,
  });
  const checkServer = createCheckServer({
    dialects: HTTP_DIALECTS,
    handleCheck,
    callerWithoutAddress: environment.socket === undefined ? '' : '127.0.0.1',
    proxySecrets: environment.proxySecrets,
    isLeaving: () => isLeaving,
    onUnauthorized: telemetry.unauthorizedRefused,
  });
  const { grpcPort } = environment;
  const grpcServer =
    grpcPort === undefined
      ? undefined
      : createGrpcServer({
          dialect: envoyGrpc,
          handleCheck,
          proxySecrets: environment.proxySecrets,
          onUnauthorized: telemetry.unauthorizedRefused,
        });
  const gateway: Gateway = {
    policies,
    salts,
    overrides,
    store,
    reader,
    peekLocally: (descriptors) => local.peek(descriptors),
    denied: telemetry.denied,
    wouldBeDenied: telemetry.wouldBeDenied,
    queryAll: backend.queryAll,
    stats: backend.stats,
    unseenHeaders,
    audit: telemetry.operatorActed,
    now,
  };
  const operate = createOperate(gateway);
  const saltKeeper = new Refresher({
    refresh: () => salts.refresh(now()),
    everyMs: SALTS_EVERY_MS,
    onFailure: telemetry.saltsNotShared,
  });
  const overrideKeeper = new Refresher({
    refresh: () => overrides.refresh(),
    everyMs: OVERRIDES_EVERY_MS,
    onFailure: telemetry.overridesUnread,
  });
  let isLeaving = false;
  let isClosing = false;

  return {
    operate,
    unseenHeaders,
    async start() {
      const found = await backend.connect(async () => {
        await Promise.all([saltKeeper.refresh(), overrideKeeper.refresh()]);
      });
      if (found !== 'counts') telemetry.startedUncounted(byFailureMode(policies.current.policies));
      // Also without a contact: what is over is forgotten all the same.
      void saltKeeper.refresh();
      void overrideKeeper.refresh();
      await checkServer.ready();
      return found;
    },
    take(port, connection) {
      if (isClosing) return false;
      if (port === 'check') checkServer.take(connection);
      else grpcServer?.take(connection);
      return true;
    },
    async drain(durationMs) {
      isLeaving = true;
      grpcServer?.drain();
      await sleep(durationMs);
    },
    async close() {
      isLeaving = true;
      isClosing = true;
      saltKeeper.close();
      overrideKeeper.close();
      overrides.close();
      const withinMs = environment.storeTimeoutMs + CUT_OFF_MS;
      await Promise.all([checkServer.close(withinMs), grpcServer?.close(withinMs)]);
      await backend.close();
    },
  };
}

function isPrivateToUs({ address }: AddressInfo): boolean {
  return isLoopback(canonicalAddress(address) ?? '');
}
