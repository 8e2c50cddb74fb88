/** A gateway in one process: its ports, and the ops server. */
import type { AddressInfo } from 'node:net';
import { SHIPPED_PAGE } from '../config/shipped-files.ts';
import { createOpsServer } from '../server/ops-server.ts';
import { openProxyPorts, type ProxyPorts } from '../server/proxy-ports.ts';
import type { StoreAtStart } from './backend.ts';
import { warnIfOpen } from './open-ports.ts';
import {
  createPortlessGateway,
  type GatewayOptions,
  type RunningGateway,
} from './portless-gateway.ts';

export interface Listening extends Pick<ProxyPorts, 'check' | 'grpc' | 'json'> {
  readonly store: StoreAtStart;
  /** How many gateways count together; undefined if workers count. */
  readonly gateways?: number;
  readonly ops: AddressInfo | undefined;
}

export interface Gateway extends RunningGateway {
  /** Opens the ports, and answers. */
  listen(): Promise<Listening>;
}

/** A gateway in this process. */
export interface SingleGateway extends Gateway {
  /** Reads the files of the rate limit service again, if it has any. */
  reloadRateLimits(): Promise<void>;
}

export async function createGateway(options: GatewayOptions): Promise<SingleGateway> {
  const { environment, telemetry, resources } = options;
  const { registry, operators, proxies } = telemetry;
  let ready = false;
  const opsServer = createOpsServer({
    metrics: () => registry.metrics(),
    contentType: registry.contentType,
    health: () => ({
      ready,
      degraded: gateway.isDegraded(),
      unseenHeaders: gateway.unseenHeaders(),
    }),
    operate: (name, input) => gateway.operate(name, input),
    adminToken: environment.adminToken,
    pageFolder: environment.ui ? SHIPPED_PAGE : undefined,
    onRefused: operators.refused,
    onFault: operators.operationFailed,
    onConnectionFault: (error) => proxies.connectionFailed('ops', error),
  });
  // Operators see how it ends: this is closed after everything below.
  resources.add(opsServer, (opened) => opened.close());
  const gateway = await createPortlessGateway(options);
  const { operate, unseenHeaders, take } = gateway;
  return {
    operate,
    unseenHeaders,
    reloadRateLimits: gateway.reloadRateLimits,
    async listen() {
      const store = await gateway.start();
      await opsServer.listen({ host: environment.opsHost, port: environment.opsPort });
      const ports = resources.add(
        await openProxyPorts(environment, { pauseOnConnect: false }, take),
        async (opened) => {
          ready = false;
          await gateway.drain(0);
          await opened.close();
        },
      );
      ready = true;
      warnIfOpen(ports, environment, proxies);
      const gateways = gateway.knownGateways();
      return { ...ports, store, gateways, ops: opsServer.server.address() as AddressInfo };
    },
    async drain(durationMs) {
      ready = false;
      await gateway.drain(durationMs);
    },
  };
}
