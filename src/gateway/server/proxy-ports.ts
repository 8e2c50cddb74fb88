/** The ports that proxies connect to. Each connection goes to this process or to a worker. */
import type { AddressInfo, ServerOpts, Socket } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import { type Listener, listenOnPort, listenOnSocket, MANY_SOCKETS } from './listener.ts';

export type PortName = 'check' | 'grpc' | 'json';
export type TakeAt = (port: PortName, connection: Socket) => void;

export interface ProxyPorts {
  /** A string is the path of a unix socket. It is undefined if proxies send checks over gRPC only. */
  readonly check: AddressInfo | string | undefined;
  readonly grpc: AddressInfo | undefined;
  readonly json: AddressInfo | undefined;
  /** No connection that a proxy opened before is lost. */
  close(): Promise<void>;
}

/** Rejects if one port cannot be opened. No port is open then. */
export async function openProxyPorts(
  { host, port, socket, grpcPort, rateLimit }: Environment,
  { pauseOnConnect }: Pick<ServerOpts, 'pauseOnConnect'>,
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
  const addressOf = async (opening: Promise<Listener>) => {
    const listener = await opening;
    opened.push(listener);
    return listener.address;
  };
  const onPort = async (
    name: PortName,
    address: { readonly host: string; readonly port: number | undefined },
    special: { readonly sockets?: number; readonly allowHalfOpen?: boolean } = {},
  ) => {
    if (address.port === undefined) return undefined;
    const at = { host: address.host, port: address.port };
    const how = { sockets: 1, ...options, ...special };
    return (await addressOf(listenOnPort(at, how, toPort(name)))) as AddressInfo;
  };
  try {
    const check =
      socket === undefined
        ? await onPort('check', { host, port }, { sockets: MANY_SOCKETS })
        : await addressOf(listenOnSocket(socket, options, toPort('check')));
    // Envoy opens few connections and keeps them.
    const grpc = await onPort('grpc', { host, port: grpcPort }, { allowHalfOpen: false });
    const { httpHost = host, httpPort } = rateLimit ?? {};
    const json = await onPort('json', { host: httpHost, port: httpPort });
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
