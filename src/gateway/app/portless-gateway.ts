/** A gateway without ports: it answers on the connections that are passed to it. Each worker is one. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Environment } from '../config/settings/environment.ts';
import { HeaderWatch, type UnseenHeader } from '../core/header-watch.ts';
import { byFailureMode } from '../core/policy.ts';
import { Denials } from '../denials/denials.ts';
import { answerQuery, createOperate, type Operate } from '../operations/operations.ts';
import { Arrivals } from '../server/arrivals.ts';
import { createHandler } from '../server/handler.ts';
import type { PortName } from '../server/proxy-ports.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { openTracing } from '../telemetry/tracing/tracing.ts';
import type { StoreAtStart } from './backend.ts';
import { createCheckPipeline } from './check-pipeline.ts';
import { headerReports } from './header-reports.ts';
import type { OpenResources } from './open-resources.ts';
import { operatedGateway, sampleTraffic } from './operated-gateway.ts';
import { createProxyServers } from './proxy-servers.ts';
import type { RateLimits, RateLimitsOptions } from './ratelimit/rate-limits.ts';
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
  /** The gateway ends when these are closed. It answers the checks under way before. */
  readonly resources: OpenResources;
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
}

export interface PortlessGateway extends RunningGateway {
  /** Resolves to the state of its store, once it can answer. */
  start(): Promise<StoreAtStart>;
  /** Answers checks on this connection. Returns false, and leaves the connection alone, if the gateway is closing. */
  take(port: PortName, connection: Socket): boolean;
  /** The store failed lately. */
  isDegraded(): boolean;
  /** The last known number of gateways that count together. */
  knownGateways(): number;
  /** Reads the files of the rate limit service again, if it has any. */
  reloadRateLimits(): Promise<void>;
}

export async function createPortlessGateway(options: GatewayOptions): Promise<PortlessGateway> {
  const { environment, policies, telemetry, now, resources } = options;
  const monitor = monitorStore(telemetry, now);
  const denials = resources.add(loggedDenials(options), (opened) => opened.close());
  const headerWatch = new HeaderWatch(headerReports(telemetry.proxies));
  const unseenHeaders = () => headerWatch.unseen(policies.current);
  const shared = await createSharedState({
    ...options,
    monitor,
    onReset: (keys) => denials.reset(keys),
  });
  const { decisions } = telemetry;
  const tracing = resources.add(
    await openTracing(environment.tracing, telemetry.tracing),
    (opened) => opened.close(),
  );
  const handle = createHandler({
    arrivals: new Arrivals(decisions.requestAbandoned),
    onDecided(decision, dialect, durationMs) {
      decisions.decided(decision, dialect, durationMs);
      if (decision.denial !== undefined) denials.decided(decision, dialect, durationMs);
    },
    onFault: decisions.checkFailed,
  });
  const answering = { ...options, shared, denials, tracing, handle };
  const rateLimits = await openRateLimitsIn(environment, answering);
  const operated = operatedGateway({ ...answering, monitor, rateLimits, unseenHeaders });
  shared.answerQueries((query) => answerQuery(operated, query));
  const handleCheck = createCheckPipeline({ ...answering, headerWatch });
  const servers = createProxyServers({
    ...{ environment, handleCheck, rateLimits },
    telemetry: telemetry.proxies,
  });
  let isClosing = false;
  resources.add(servers, (opened) => {
    isClosing = true;
    return opened.close(environment.storeTimeoutMs + CUT_OFF_MS);
  });
  resources.add(sampleTraffic(telemetry.traffic, now), (stopSampling) => stopSampling());

  return {
    operate: createOperate(operated),
    unseenHeaders,
    isDegraded: monitor.isDegraded,
    knownGateways: operated.knownGateways,
    reloadRateLimits: async () => rateLimits?.reload(),
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
  };
}

/** Loaded only if it is set up. */
async function openRateLimitsIn(
  { rateLimit: settings }: Environment,
  options: Omit<RateLimitsOptions, 'settings'>,
): Promise<RateLimits | undefined> {
  if (settings === undefined) return undefined;
  const { openRateLimits } = await import('./ratelimit/rate-limits.ts');
  return openRateLimits({ ...options, settings });
}

function loggedDenials({ policies, telemetry, now }: GatewayOptions): Denials {
  const { denied, wouldBeDenied } = telemetry.decisions;
  const idOf = (client: string) => policies.current.listedClients.get(client)?.id;
  return new Denials({ now, idOf, writeDenied: denied, writeWouldBeDenied: wouldBeDenied });
}
