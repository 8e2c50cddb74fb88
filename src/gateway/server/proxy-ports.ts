/** The ports that proxies connect to. Each connection goes to this process or to a worker. */
import type { AddressInfo, Socket } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import type { Listener } from './listener.ts';
import { type ListenOptions, listenOnPort, MANY_SOCKETS } from './tcp-port.ts';
import { listenOnSocket } from './unix-socket.ts';

/** `json`: calls of Envoy's rate limit service as JSON. */
export type PortName = 'check' | 'grpc' | 'json';
export type TakeAt = (port: PortName, connection: Socket) => void;

export interface ProxyPorts {
  /** A string is the path of a unix socket. Undefined: proxies ask over gRPC only. */
  readonly check: AddressInfo | string | undefined;
  readonly grpc: AddressInfo | undefined;
  readonly json: AddressInfo | undefined;
  /** Stops listening. No connection that a proxy opened before is lost. */
  close(): Promise<void>;
}

export interface OpeningOptions {
  /** Whether another process reads from the connections. */
  readonly pauseOnConnect: boolean;
}

interface Place {
  /** Undefined: the one of the check server. */
  readonly host?: string | undefined;
  /** Undefined: it is not opened. */
  readonly port: number | undefined;
}

/** Rejects if one port cannot be opened. No port is open then. */
export async function openProxyPorts(
  { host, port, socket, grpcPort, rateLimit }: Environment,
  { pauseOnConnect }: OpeningOptions,
  take: TakeAt,
): Promise<ProxyPorts> {
  // Node's HTTP server requires these options.
  const options = { pauseOnConnect, allowHalfOpen: true, noDelay: true };
  let held: (() => void)[] | undefined;
  const toPort = (name: PortName) => (connection: Socket) => {
    // The peer may reset it before a server takes it. `close` follows.
    connection.on('error', () => {});
    if (held === undefined) take(name, connection);
    else held.push(() => take(name, connection));
  };
  const opened: Listener[] = [];
  const onPort = async (name: PortName, place: Place, own: Partial<ListenOptions>) => {
    if (place.port === undefined) return undefined;
    const listener = await listenOnPort(
      { host: place.host ?? host, port: place.port },
      { sockets: 1, ...options, ...own },
      toPort(name),
    );
    opened.push(listener);
    return listener.address as AddressInfo;
  };
  const onSocket = async (path: string) => {
    const listener = await listenOnSocket(path, options, toPort('check'));
    opened.push(listener);
    return listener.address;
  };
  try {
    const check =
      socket === undefined
        ? await onPort('check', { port }, { sockets: MANY_SOCKETS })
        : await onSocket(socket);
    // Envoy opens few connections and keeps them.
    const grpc = await onPort('grpc', { port: grpcPort }, { allowHalfOpen: false });
    const { httpHost, httpPort } = rateLimit ?? {};
    const json = await onPort('json', { host: httpHost, port: httpPort }, {});
    return {
      ...{ check, grpc, json },
      async close() {
        // Holding connections back empties the kernel's queue sooner.
        held = [];
        await Promise.all(opened.map((listener) => listener.close()));
        for (const takeHeld of held) takeHeld();
        held = undefined;
      },
    };
  } catch (error) {
    await Promise.all(opened.map((listener) => listener.close()));
    throw error;
  }
}
