/**
 * A port to listen on. Of each socket that listens, libuv takes one connection per turn of the event loop: a gateway
 * that is busy would take a few hundred a second, and callers who hang up and call again would find it deaf. So the port
 * has several sockets, among which the kernel spreads connections (SO_REUSEPORT, socket(7)).
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';

const SOCKETS = 16;
/** Elsewhere the newest socket would get all of them, or none may share a port. */
const SPREADS_CONNECTIONS = process.platform === 'linux';

export interface Port {
  readonly host: string;
  readonly port: number;
}

/** The sockets beside the server's own. They are closed when nobody is connected to them any more. */
export interface OtherSockets {
  close(): Promise<void>;
}

/** Rejects when somebody listens there already. */
export async function listenOnPort(server: FastifyInstance, place: Port): Promise<OtherSockets> {
  // Two that start at the same moment would both find it free.
  await using _alone = await lockPort(place);
  const shared = { ...(await claim(place)), reusePort: SPREADS_CONNECTIONS };
  await server.listen(shared);
  const count = SPREADS_CONNECTIONS ? SOCKETS - 1 : 0;
  const others = Array.from({ length: count }, () => socketFor(server));
  for (const other of others) {
    other.listen(shared);
    await once(other, 'listening');
  }
  return {
    close: async () => {
      const closed = others.map((other) => once(other, 'close'));
      for (const other of others) other.close();
      await Promise.all(closed);
    },
  };
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

/** What it accepts is the server's, with the options that Node's HTTP server has for sockets. */
function socketFor({ server }: FastifyInstance): Server {
  return createServer({ allowHalfOpen: true, noDelay: true }, (connection) => {
    server.emit('connection', connection);
  });
}
