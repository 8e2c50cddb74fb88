/** A gateway without ports: it answers on the connections that are passed to it. Each worker is one. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../config/settings/environment.ts';
import { HeaderWatch, type UnseenHeader } from '../core/header-watch.ts';
import { byFailureMode } from '../core/policy.ts';
import { createDenials, type Denials } from '../denials/denials.ts';
import { createOperate, replyTo } from '../operations/operations.ts';
import { Arrivals, createHandler } from '../server/handler.ts';
import type { Health } from '../server/ops/ops-server.ts';
import type { PortName } from '../server/proxy-ports.ts';
import { openTracing } from '../telemetry/tracing/tracing.ts';
import type { StoreAtStart } from './backend.ts';
import { createCheckPipeline, headerReports } from './check-pipeline.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { operatedGateway, sampleTraffic } from './operated-gateway.ts';
import { createProxyServers } from './proxy-servers.ts';
import type { RateLimits, RateLimitsOptions } from './ratelimit/rate-limits.ts';
import { openSettling, watchUnsettled } from './settlements.ts';
import { createSharedState } from './shared-state.ts';
import { monitorStore } from './store-monitor.ts';

/** Checks under way are answered within the store timeout. Callers that are slower than this are cut off. */
const CUT_OFF_MS = 500;

export type PortlessGateway = Awaited<ReturnType<typeof createPortlessGateway>>;

export async function createPortlessGateway(options: GatewayOptions) {
  const { environment, policies, telemetry, now, resources } = options;
  const monitor = monitorStore(telemetry, now);
  const denials = resources.addClosable(
    loggedDenials(options, (client) => shared.keys.clientOf(client)?.id),
  );
  const headerWatch = new HeaderWatch(headerReports(telemetry.proxies));
  const unseenHeaders = (): readonly UnseenHeader[] => headerWatch.unseen(policies.current);
  const shared = await createSharedState({
    ...options,
    monitor,
    onReset: (keys) => denials.reset(keys),
  });
  const { decisions } = telemetry;
  const tracing = resources.addClosable(await openTracing(environment.tracing, telemetry.tracing));
  const arrivals = new Arrivals(decisions.requestAbandoned);
  const handle = createHandler({
    arrivals,
    onDecided(decision, dialect, durationMs) {
      decisions.decided(decision, dialect, durationMs);
      denials.decided(decision, dialect, durationMs);
    },
    onFault: decisions.checkFailed,
  });
  const { issueToken, settle, retry } = openSettling({ ...options, shared });
  shared.settleLaterWith(retry);
  const answering = { ...options, shared, denials, tracing, handle, issueToken };
  const rateLimits = await openRateLimitsIn(environment, answering);
  const operated = operatedGateway({ ...answering, monitor, rateLimits, unseenHeaders });
  shared.replyWith((query) => replyTo(operated, query));
  const unsettled = watchUnsettled(operated, telemetry.settlements, resources);
  const handleCheck = createCheckPipeline({ ...answering, headerWatch });
  const proxies = { environment, handleCheck, rateLimits, telemetry, settle, arrivals };
  const servers = createProxyServers(proxies);
  let isClosing = false;
  resources.add(servers, (opened) => {
    isClosing = true;
    return opened.close(environment.storeTimeoutMs + CUT_OFF_MS);
  });
  resources.add(sampleTraffic(telemetry.traffic, now), (stopSampling) => stopSampling());

  return {
    operate: createOperate(operated),
    unseenHeaders,
    health: (): Omit<Health, 'ready'> => ({
      degraded: monitor.isDegraded(),
      unseenHeaders: unseenHeaders(),
      unsettledPolicies: unsettled(),
    }),
    knownGateways: operated.knownGateways,
    reloadRateLimits: async () => rateLimits?.reload(),
    /** Resolves to the state of its store, once it can answer. */
    async start(): Promise<StoreAtStart> {
      const found = await shared.connect();
      if (found !== 'counts') monitor.startedUncounted(byFailureMode(policies.current.policies));
      await servers.ready();
      return found;
    },
    /** Answers checks on this connection. Returns false, and leaves the connection alone, if the gateway is closing. */
    take(port: PortName, connection: Socket): boolean {
      if (!isClosing) servers.take(port, connection);
      return !isClosing;
    },
    /** Closes each connection with its next response, and answers for so long, so that proxies can notice. */
    async drain(durationMs: number): Promise<void> {
      servers.drain();
      await sleep(durationMs);
    },
  };
}

async function openRateLimitsIn(
  { rateLimit: settings }: Environment,
  options: Omit<RateLimitsOptions, 'settings'>,
): Promise<RateLimits | undefined> {
  if (settings === undefined) return undefined;
  const { openRateLimits } = await import('./ratelimit/rate-limits.ts');
  return openRateLimits({ ...options, settings });
}

function loggedDenials(
  { policies, telemetry, now }: GatewayOptions,
  storedIdOf: (client: string) => string | undefined,
): Denials {
  const { denied, wouldBeDenied } = telemetry.decisions;
  const idOf = (client: string) =>
    policies.current.listedClients.get(client)?.id ?? storedIdOf(client);
  return createDenials({ now, idOf, writeDenied: denied, writeWouldBeDenied: wouldBeDenied });
}
