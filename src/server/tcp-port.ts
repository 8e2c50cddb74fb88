/**
 * A port to listen on. Of each socket that listens, libuv takes one connection per turn of the event loop: a gateway
 * that is busy would take a few hundred a second, and callers who hang up and call again would find it deaf. So the port
 * has several sockets, among which the kernel spreads connections (SO_REUSEPORT, socket(7)).
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type ServerOpts } from 'node:net';
import { type Listener, listenerOf, type TakeConnection } from './listener.ts';

/** For a port with many connections. The kernel takes some milliseconds to close each, also of a process that is killed. */
export const MANY_SOCKETS = 16;
/** Elsewhere the newest socket would get all of them, or none may share a port. */
const SPREADS_CONNECTIONS = process.platform === 'linux';

export interface Port {
  readonly host: string;
  readonly port: number;
}

export interface ListenOptions extends ServerOpts {
  /** How many there are, where the system spreads connections among them. */
  readonly sockets: number;
}

/** Rejects with EADDRINUSE if the port is taken. */
export async function listenOnPort(
  place: Port,
  { sockets, ...options }: ListenOptions,
  take: TakeConnection,
): Promise<Listener> {
  // Two that start at the same moment would both find it free.
  await using _alone = await lockPort(place);
  const count = SPREADS_CONNECTIONS ? sockets : 1;
  const shared = { ...(await claim(place)), reusePort: count > 1 };
  const servers = Array.from({ length: count }, () => createServer(options, take));
  for (const server of servers) await once(server.listen(shared), 'listening');
  return listenerOf(servers);
}

/** With the port that it is: whoever shares one does not find out that it is taken, so one that does not asks first. */
async function claim({ host, port }: Port): Promise<Port> {
  const probe = createServer().listen({ host, port });
  await once(probe, 'listening');
  const { port: claimed } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return { host, port: claimed };
}

/** Held by one process of this machine at a time: a socket without a file (unix(7), abstract). */
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
