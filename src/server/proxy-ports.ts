/** The ports where proxies connect. Whoever opens them passes each connection on, to this process or to a worker. */
import type { AddressInfo, Socket } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import type { Listener } from './listener.ts';
import { listenOnPort, MANY_SOCKETS } from './tcp-port.ts';
import { listenOnSocket } from './unix-socket.ts';

export type PortName = 'check' | 'grpc';
export type TakeAt = (port: PortName, connection: Socket) => void;

export interface ProxyPorts {
  /** Or the path of a unix socket. */
  readonly check: AddressInfo | string;
  readonly grpc: AddressInfo | undefined;
  /** No connection comes after this, and none that a proxy opened before is lost. */
  close(): Promise<void>;
}

export interface OpeningOptions {
  /** Whether another process will read from the connections. */
  readonly pauseOnConnect: boolean;
}

/** Rejects, with none open, if one of them cannot be opened. */
export async function openProxyPorts(
  { host, port, socket, grpcPort }: Environment,
  { pauseOnConnect }: OpeningOptions,
  take: TakeAt,
): Promise<ProxyPorts> {
  // Node's HTTP server expects connections with these options.
  const options = { pauseOnConnect, allowHalfOpen: true, noDelay: true };
  let held: (() => void)[] | undefined;
  const toPort = (name: PortName) => (connection: Socket) => {
    if (held === undefined) take(name, connection);
    else held.push(() => take(name, connection));
  };
  const check =
    socket === undefined
      ? await listenOnPort({ host, port }, { ...options, sockets: MANY_SOCKETS }, toPort('check'))
      : await listenOnSocket(socket, options, toPort('check'));
  let grpc: Listener | undefined;
  try {
    if (grpcPort !== undefined) {
      // Envoy opens a few connections, and keeps them.
      const unlikeHttp = { ...options, allowHalfOpen: false, sockets: 1 };
      grpc = await listenOnPort({ host, port: grpcPort }, unlikeHttp, toPort('grpc'));
    }
  } catch (error) {
    await check.close();
    throw error;
  }
  return {
    check: check.address,
    grpc: grpc?.address as AddressInfo | undefined,
    async close() {
      // The kernel's queue empties sooner if nothing is answered meanwhile.
      held = [];
      await Promise.all([check.close(), grpc?.close()]);
      for (const takeHeld of held) takeHeld();
      held = undefined;
    },
  };
}
