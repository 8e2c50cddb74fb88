/**
 * Listens on a port. libuv accepts one connection per listening socket and turn of the event loop, so a busy gateway would
 * accept only a few hundred a second, and callers that reconnect would wait. So the port has several sockets, and the
 * kernel spreads connections over them (SO_REUSEPORT, socket(7)).
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type ServerOpts } from 'node:net';
import { type Listener, listenerOf, type TakeConnection } from './listener.ts';

/** For a port with many connections. The kernel takes some milliseconds to close each socket, even of a killed process. */
export const MANY_SOCKETS = 16;
/** On other systems the newest socket would get all connections, or sockets cannot share a port. */
const SPREADS_CONNECTIONS = process.platform === 'linux';

export interface Port {
  readonly host: string;
  readonly port: number;
}

export interface ListenOptions extends ServerOpts {
  /** How many sockets share the port, if the system spreads connections over them. */
  readonly sockets: number;
}

/** Rejects with EADDRINUSE if the port is taken. */
export async function listenOnPort(
  place: Port,
  { sockets, ...options }: ListenOptions,
  take: TakeConnection,
): Promise<Listener> {
  // Without the lock, two gateways that start together would both find the port free.
  await using _alone = await lockPort(place);
  const count = SPREADS_CONNECTIONS ? sockets : 1;
  const shared = { ...(await claim(place)), reusePort: count > 1 };
  const servers = Array.from({ length: count }, () => createServer(options, take));
  for (const server of servers) await once(server.listen(shared), 'listening');
  return listenerOf(servers);
}

/** Resolves to the actual port. Sockets that share a port do not notice that it is taken, so one that does not share tries first. */
async function claim({ host, port }: Port): Promise<Port> {
  const probe = createServer().listen({ host, port });
  await once(probe, 'listening');
  const { port: claimed } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return { host, port: claimed };
}

/** One process of this machine holds the lock at a time. It is a socket without a file (unix(7), abstract). */
async function lockPort({ port }: Port): Promise<AsyncDisposable> {
  if (!SPREADS_CONNECTIONS || port === 0) return { [Symbol.asyncDispose]: async () => {} };
  const lock = createServer().listen({ path: `\0headgate-port-${port}` });
  try {
    await once(lock, 'listening');
  } catch (error) {
    throw Object.assign(error as Error, { port });
  }
  return {
    [Symbol.asyncDispose]: async () => {
      lock.close();
      await once(lock, 'close');
    },
  };
}
