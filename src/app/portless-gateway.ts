/** A gateway without ports: it answers on the connections that are passed to it. Each worker is one. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Environment } from '../config/settings/environment.ts';
import { byFailureMode } from '../core/failure-modes.ts';
import { HeaderWatch, type UnseenHeader } from '../core/header-watch.ts';
import { Denials } from '../denials/denials.ts';
import { createOperate, type Operate } from '../operations/operations.ts';
import { answerQuery } from '../operations/queries.ts';
import { RecentActions } from '../operations/recent-actions.ts';
import type { Gateway as OperatedGateway } from '../operations/running-gateway.ts';
import type { PortName } from '../server/proxy-ports.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { StoreAtStart } from './backend.ts';
import { createCheckPipeline } from './check-pipeline.ts';
import { gatewayStatus, sampleTraffic } from './gateway-status.ts';
import { headerReports } from './header-reports.ts';
import { createProxyServers } from './proxy-servers.ts';
import { createSharedState } from './shared-state.ts';
import { monitorStore } from './store-monitor.ts';

/** Checks under way are answered within the store timeout. Callers that are slower than this are cut off. */
const CUT_OFF_MS = 500;

export interface GatewayOptions {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What gateways with and without ports have in common. */
export interface RunningGateway {
  /** Runs an operation of the ops API. */
  readonly operate: Operate;
  /** Headers that proxies may not pass on, as far as this process knows. */
  unseenHeaders(): readonly UnseenHeader[];
  /**
   * Is not ready any more, and answers for so many milliseconds, so that proxies can notice. Closes each connection with
   * its next response.
   */
  drain(durationMs: number): Promise<void>;
  /** Answers the checks under way, and frees all resources. */
  close(): Promise<void>;
}

export interface PortlessGateway extends RunningGateway {
  /** Resolves to the state of its store, once it can answer. */
  start(): Promise<StoreAtStart>;
  /** Answers checks on this connection. Returns false, and leaves the connection alone, if the gateway is closing. */
  take(port: PortName, connection: Socket): boolean;
  /** The store failed lately. */
  isDegraded(): boolean;
}

export async function createPortlessGateway(options: GatewayOptions): Promise<PortlessGateway> {
  const { environment, policies, telemetry, now } = options;
  const monitor = monitorStore(telemetry, now);
  const denials = loggedDenials(options);
  const headerWatch = new HeaderWatch(headerReports(telemetry.proxies));
  const unseenHeaders = () => headerWatch.unseen(policies.current);
  const shared = await createSharedState({
    ...options,
    monitor,
    answerQuery: (query) => answerQuery(operated, query),
    onReset: (keys) => denials.reset(keys),
  });
  const { backend, local, salts, overrides } = shared;
  const actions = new RecentActions(now);
  const operated: OperatedGateway = {
    policies,
    salts,
    overrides,
    unseenHeaders,
    now,
    store: backend.store,
    reader: backend.reader,
    peekLocally: (descriptors) => local.peek(descriptors),
    denied: denials.enforced.clients,
    wouldBeDenied: denials.shadow.clients,
    forgetDenied: (keys) => denials.reset(keys),
    queryAll: backend.queryAll,
    stats: backend.stats,
    audit(action, isConfirmed) {
      actions.add(action, isConfirmed);
      telemetry.operators.acted(action);
    },
    status: gatewayStatus({ ...options, monitor, backend, actions }),
  };
  const handleCheck = createCheckPipeline({ ...options, shared, denials, headerWatch });
  const servers = createProxyServers({ environment, handleCheck, telemetry: telemetry.proxies });
  const stopSampling = sampleTraffic(telemetry.traffic, now);
  let isClosing = false;

  return {
    operate: createOperate(operated),
    unseenHeaders,
    isDegraded: monitor.isDegraded,
    async start() {
      const found = await shared.connect();
      if (found !== 'counts') monitor.startedUncounted(byFailureMode(policies.current.policies));
      await servers.ready();
      return found;
    },
    take(port, connection) {
      if (!isClosing) servers.take(port, connection);
      return !isClosing;
    },
    async drain(durationMs) {
      servers.drain();
      await sleep(durationMs);
    },
    async close() {
      isClosing = true;
      stopSampling();
      shared.stopRefreshing();
      await servers.close(environment.storeTimeoutMs + CUT_OFF_MS);
      await shared.close();
      denials.close();
    },
  };
}

function loggedDenials({ policies, telemetry, now }: GatewayOptions): Denials {
  const { denied, wouldBeDenied } = telemetry.decisions;
  const idOf = (client: string) => policies.current.listedClients.get(client)?.id;
  return new Denials({ now, idOf, writeDenied: denied, writeWouldBeDenied: wouldBeDenied });
}
