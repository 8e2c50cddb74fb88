/** The composition root: configuration in, something that listens and closes out. */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendEvents, StoreAtStart } from './backends/backend.ts';
import { inMemory } from './backends/in-memory.ts';
import { inRedis } from './backends/in-redis.ts';
import type { Environment } from './config/environment.ts';
import type { PolicySource } from './config/policy-source.ts';
import { canonicalAddress, isLoopback } from './core/address.ts';
import { createCheck } from './core/check.ts';
import { byFailureMode } from './core/failure-modes.ts';
import { HeaderWatch, type UnseenHeader } from './core/header-watch.ts';
import { countOnce } from './core/repeated-check.ts';
import { caddy } from './dialects/caddy.ts';
import { envoy } from './dialects/envoy.ts';
import { envoyGrpc } from './dialects/envoy-grpc.ts';
import { haproxy } from './dialects/haproxy.ts';
import { ingressNginx } from './dialects/ingress-nginx.ts';
import { nginx } from './dialects/nginx.ts';
import { traefik } from './dialects/traefik.ts';
import { answerQuestion } from './operations/denials.ts';
import type { Gateway } from './operations/gateway.ts';
import { createOperate, type Operate } from './operations/operations.ts';
import { loggingIn, overrideEffects } from './operations/override.ts';
import { OverrideBook } from './operations/override-book.ts';
import { createAnswering } from './server/answering.ts';
import { createCheckServer } from './server/check-server.ts';
import { createGrpcServer } from './server/grpc-server.ts';
import { createOpsServer } from './server/ops-server.ts';
import { listenOnPort, type OtherSockets } from './server/tcp-port.ts';
import { listenOnSocket } from './server/unix-socket.ts';
import { DerivedSalts } from './stores/derived-salts.ts';
import { LocalShare } from './stores/local-share.ts';
import { MemoryStore } from './stores/memory/memory-store.ts';
import { Refresher } from './stores/refresher.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

const DIALECTS = [envoy, nginx, caddy, haproxy, traefik, ingressNginx];
/** Salts change once a day, and the next ones are made long before. */
const SALTS_EVERY_MS = 60_000;
/** Overrides are heard of at once; this is for what was not heard. */
const OVERRIDES_EVERY_MS = 5_000;
/** What is under way is answered within the deadline; a caller that has not finished its question then is cut off. */
const CUT_OFF_MS = 500;

export interface AppOptions {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  /** Whether somebody else answers operators: this is one of several workers. */
  readonly isWorker: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Listening {
  readonly store: StoreAtStart;
  /** Or the path of a unix socket. */
  readonly check: AddressInfo | string;
  readonly grpc: AddressInfo | undefined;
  readonly ops: AddressInfo | undefined;
}

export interface App {
  /** What operators ask, or have done. */
  readonly operate: Operate;
  /** Headers that proxies may not pass on, as this process sees it. */
  unseenHeaders(): readonly UnseenHeader[];
  listen(): Promise<Listening>;
  /**
   * Goes on answering for so many milliseconds, not ready any more: time for whoever asks to notice. Each connection is
   * closed with its next answer.
   */
  drain(durationMs: number): Promise<void>;
  /** Answers what is under way, then lets go of everything. */
  close(): Promise<void>;
}

export function createApp(options: AppOptions): App {
  const { environment, policies, telemetry, isWorker, now } = options;
  const memory = new MemoryStore({ now, maxKeys: environment.memoryMaxKeys });
  const events: BackendEvents = {
    onReset: (keys) => void memory.reset(keys),
    // What is read already may not be the latest; what cannot be read is tried again.
    onNotices: () => void overrides.refresh().catch(() => overrideKeeper.refresh()),
    answer: (question) => answerQuestion(gateway, question),
  };
  const backend = environment.redis
    ? inRedis(environment.redis, environment, events, telemetry, now)
    : inMemory(memory, events, telemetry, now);
  const { store, reader, board } = backend;
  const overrides = new OverrideBook({
    board,
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
  const answering = createAnswering({
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
    dialects: DIALECTS,
    answering,
    callerWithoutAddress: environment.socket === undefined ? '' : '127.0.0.1',
    proxySecrets: environment.proxySecrets,
    isLeaving: () => isLeaving,
    onStranger: telemetry.strangerRefused,
  });
  const { grpcPort } = environment;
  const grpcServer =
    grpcPort === undefined
      ? undefined
      : createGrpcServer({
          place: { host: environment.host, port: grpcPort },
          dialect: envoyGrpc,
          answering,
          proxySecrets: environment.proxySecrets,
          onStranger: telemetry.strangerRefused,
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
    askAll: backend.askAll,
    stats: backend.stats,
    unseenHeaders,
    audit: telemetry.operatorActed,
    now,
  };
  const operate = createOperate(gateway);
  const { registry } = telemetry;
  const opsServer = createOpsServer({
    metrics: () => registry.metrics(),
    contentType: registry.contentType,
    health: () => ({ ready, degraded: telemetry.isDegraded(), unseenHeaders: unseenHeaders() }),
    operate,
    adminToken: environment.adminToken,
    onRefused: telemetry.operatorRefused,
    onFault: telemetry.operationFailed,
  });
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
  let ready = false;
  let isLeaving = false;
  let otherSockets: OtherSockets | undefined;

  return {
    operate,
    unseenHeaders,
    async listen() {
      const found = await backend.connect(async () => {
        await Promise.all([saltKeeper.refresh(), overrideKeeper.refresh()]);
      });
      if (found !== 'counts') telemetry.startedUncounted(byFailureMode(policies.current.policies));
      // Also without a contact: what is over is forgotten all the same.
      void saltKeeper.refresh();
      void overrideKeeper.refresh();
      if (!isWorker) {
        await opsServer.listen({ host: environment.opsHost, port: environment.opsPort });
      }
      const { host, port, socket } = environment;
      if (socket !== undefined) await listenOnSocket(checkServer, socket);
      // The supervisor of workers accepts for them.
      else if (isWorker) await checkServer.listen({ host, port });
      else otherSockets = await listenOnPort(checkServer, { host, port });
      const grpc = await grpcServer?.listen();
      ready = true;
      const check = checkServer.server.address() as Listening['check'];
      const isOpen = [check, grpc].some(
        (place) => typeof place === 'object' && !isPrivateToUs(place),
      );
      if (isOpen && environment.proxySecrets.length === 0) telemetry.checkPortOpen();
      const ops = (opsServer.server.address() as AddressInfo | null) ?? undefined;
      return { store: found, check, grpc, ops };
    },
    async drain(durationMs) {
      ready = false;
      isLeaving = true;
      grpcServer?.drain();
      await sleep(durationMs);
    },
    async close() {
      ready = false;
      isLeaving = true;
      saltKeeper.close();
      overrideKeeper.close();
      overrides.close();
      const withinMs = environment.storeTimeoutMs + CUT_OFF_MS;
      const cutOff = setTimeout(() => checkServer.server.closeAllConnections(), withinMs);
      await Promise.all([checkServer.close(), otherSockets?.close(), grpcServer?.close(withinMs)]);
      clearTimeout(cutOff);
      await opsServer.close();
      await backend.close();
    },
  };
}

function isPrivateToUs({ address }: AddressInfo): boolean {
  return isLoopback(canonicalAddress(address) ?? '');
}
