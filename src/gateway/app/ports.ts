/** The ports of a gateway, which it opens alike whether it runs in one process or in several workers. */
import type { AddressInfo } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import { SHIPPED_PAGE } from '../config/shipped-files.ts';
import { isThisMachine } from '../core/identity/address.ts';
import { createOpsServer, type OpsServerOptions } from '../server/ops/ops-server.ts';
import { openProxyPorts, type ProxyPorts, type TakeAt } from '../server/proxy-ports.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { GatewayOptions } from './gateway-options.ts';

export type PortsOptions = Pick<GatewayOptions, 'environment' | 'telemetry' | 'resources'>;

/** Operators see how the gateway ends, so open this before anything else. The result opens the port. */
export function createOpsPort(
  { environment, telemetry, resources }: PortsOptions,
  options: Pick<OpsServerOptions, 'operate' | 'metrics' | 'health'>,
): () => Promise<AddressInfo> {
  const { operators, proxies, registry } = telemetry;
  const server = createOpsServer({
    ...options,
    contentType: registry.contentType,
    adminToken: environment.adminToken,
    pageFolder: environment.ui ? SHIPPED_PAGE : undefined,
    onRefused: operators.refused,
    onFault: operators.operationFailed,
    onConnectionFault: (error) => proxies.connectionFailed('ops', error),
  });
  resources.addClosable(server);
  return async () => {
    await server.listen({ host: environment.opsHost, port: environment.opsPort });
    return server.server.address() as AddressInfo;
  };
}

export interface ProxyPortsOptions {
  readonly take: TakeAt;
  /** Another process reads from the connections. */
  readonly pauseOnConnect: boolean;
  readonly onClose: () => unknown;
}

/** Opens the ports of proxies, and logs a warning if other machines can reach them without a secret. */
export async function openPorts(
  { environment, telemetry, resources }: PortsOptions,
  { take, pauseOnConnect, onClose }: ProxyPortsOptions,
): Promise<ProxyPorts> {
  const ports = resources.add(
    await openProxyPorts(environment, { pauseOnConnect }, take),
    async (opened) => {
      await onClose();
      await opened.close();
    },
  );
  warnIfOpen(ports, environment, telemetry.proxies);
  return ports;
}

export function warnIfOpen(
  { check, grpc, json }: Omit<ProxyPorts, 'close'>,
  { proxySecrets }: Pick<Environment, 'proxySecrets'>,
  events: Pick<Telemetry['proxies'], 'checkPortOpen'>,
): void {
  const isOpen = [check, grpc, json].some(
    (address) => typeof address === 'object' && !isThisMachine(address.address),
  );
  if (isOpen && proxySecrets.length === 0) events.checkPortOpen();
}
