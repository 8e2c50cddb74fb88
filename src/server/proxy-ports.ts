/** The ports that proxies connect to. Each connection goes to this process or to a worker. */
import type { AddressInfo, Socket } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import type { Listener } from './listener.ts';
import { listenOnPort, MANY_SOCKETS } from './tcp-port.ts';
import { listenOnSocket } from './unix-socket.ts';

export type PortName = 'check' | 'grpc';
export type TakeAt = (port: PortName, connection: Socket) => void;

export interface ProxyPorts {
  /** A string is the path of a unix socket. */
  readonly check: AddressInfo | string;
  readonly grpc: AddressInfo | undefined;
  /** Stops listening. No connection that a proxy opened before is lost. */
  close(): Promise<void>;
}

export interface OpeningOptions {
  /** Whether another process reads from the connections. */
  readonly pauseOnConnect: boolean;
}

/** Rejects if one port cannot be opened. No port is open then. */
export async function openProxyPorts(
  { host, port, socket, grpcPort }: Environment,
  { pauseOnConnect }: OpeningOptions,
  take: TakeAt,
): Promise<ProxyPorts> {
  // Node's HTTP server requires these options.
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
      // Envoy opens few connections and keeps them.
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
      // Holding connections back empties the kernel's queue sooner.
      held = [];
      await Promise.all([check.close(), grpc?.close()]);
      for (const takeHeld of held) takeHeld();
      held = undefined;
    },
  };
}
