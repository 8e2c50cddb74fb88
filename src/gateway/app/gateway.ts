import type { AddressInfo } from 'node:net';
import type { ProxyPorts } from '../server/proxy-ports.ts';
import type { StoreAtStart } from './backend.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createPortlessGateway, type PortlessGateway } from './portless-gateway.ts';
import { createOpsPort, openPorts } from './ports.ts';

export interface Listening extends Pick<ProxyPorts, 'check' | 'grpc' | 'json'> {
  readonly store: StoreAtStart;
  /** It is undefined if workers count. */
  readonly gateways?: number;
  readonly ops: AddressInfo | undefined;
}

export interface Gateway extends Pick<PortlessGateway, 'operate' | 'unseenHeaders' | 'drain'> {
  /** Opens the ports, and answers. */
  listen(): Promise<Listening>;
}

export interface SingleGateway extends Gateway, Pick<PortlessGateway, 'reloadRateLimits'> {}

export async function createGateway(options: GatewayOptions): Promise<SingleGateway> {
  let ready = false;
  const openOps = createOpsPort(options, {
    metrics: () => options.telemetry.registry.metrics(),
    health: () => ({ ready, ...gateway.health() }),
    operate: (name, input) => gateway.operate(name, input),
  });
  const gateway = await createPortlessGateway(options);
  const { operate, unseenHeaders, take } = gateway;
  return {
    operate,
    unseenHeaders,
    reloadRateLimits: gateway.reloadRateLimits,
    async listen() {
      const store = await gateway.start();
      const ops = await openOps();
      const ports = await openPorts(options, {
        take,
        pauseOnConnect: false,
        async onClose() {
          ready = false;
          await gateway.drain(0);
        },
      });
      ready = true;
      return { ...ports, store, gateways: gateway.knownGateways(), ops };
    },
    async drain(durationMs) {
      ready = false;
      await gateway.drain(durationMs);
    },
  };
}
