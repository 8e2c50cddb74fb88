/** Listens on ports and unix sockets, and closes them without losing a connection. */
import { once } from 'node:events';
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import {
  type AddressInfo,
  connect,
  createServer,
  type Server,
  type ServerOpts,
  type Socket,
} from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

type TakeConnection = (connection: Socket) => void;

export interface Listener {
  /** A string is the path of a unix socket. */
  readonly address: AddressInfo | string;
  /** Accepts every waiting connection, then stops listening. Connections stay open. */
  close(): Promise<void>;
}

/** A port with many connections has so many sockets. The kernel takes some milliseconds to close each socket, even of a killed process. */
export const MANY_SOCKETS = 16;
/** On other systems the newest socket would get all connections, or sockets cannot share a port. */
const SPREADS_CONNECTIONS = process.platform === 'linux';

interface Port {
  readonly host: string;
  readonly port: number;
}

interface ListenOptions extends ServerOpts {
  readonly sockets: number;
}

/**
 * libuv accepts one connection per listening socket and turn of the event loop, so a busy gateway would accept only a few
 * hundred a second, and callers that reconnect would wait. So the port has several sockets, and the kernel spreads
 * connections over them (SO_REUSEPORT, socket(7)). Rejects with EADDRINUSE if the port is taken.
 */
export async function listenOnPort(
  address: Port,
  { sockets, ...options }: ListenOptions,
  take: TakeConnection,
): Promise<Listener> {
  // Without the lock, two gateways that start together would both find the port free.
  await using _alone = await lockPort(address);
  const count = SPREADS_CONNECTIONS ? sockets : 1;
  const shared = { ...(await claim(address)), reusePort: count > 1 };
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

const OWNER_AND_GROUP = 0o660;

/** Listens for a proxy on this machine; file permissions say which users can connect. Replaces a socket that no process listens on. Rejects if one does, or if the path is another file. */
export async function listenOnSocket(
  path: string,
  options: ServerOpts,
  take: TakeConnection,
): Promise<Listener> {
  if (isSocket(path) && !(await isAnswered(path))) unlinkSync(path);
  const server = createServer(options, take);
  await once(server.listen({ path }), 'listening');
  chmodSync(path, OWNER_AND_GROUP);
  return listenerOf([server]);
}

function isSocket(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

/** The longest time that new connections can keep a listener open. */
const CLOSE_WITHIN_MS = 500;
/**
 * Connections may arrive between the poll of the kernel and the close of a socket, so a socket is closed at most so long
 * after the poll. On a busy machine this takes many attempts, and the time grows with them.
 */
const SHORTEST_GAP_MS = 0.1;
const LONGEST_GAP_MS = 1;

function listenerOf(servers: readonly Server[]): Listener {
  const [first] = servers as [Server];
  const address = first.address() as AddressInfo | string;
  return { address, close: () => closeWhenQuiet(servers) };
}

/**
 * When a listening socket closes, the kernel resets its unaccepted connections. So each socket is closed right after a
 * turn of the event loop in which it got none.
 */
async function closeWhenQuiet(servers: readonly Server[]): Promise<void> {
  const open = new Set(servers.filter(({ listening }) => listening));
  const busy = new Set<Server>();
  for (const server of open) server.on('connection', () => busy.add(server));
  const beginMs = performance.now();
  // The current turn may have begun long ago.
  await turn();
  while (open.size > 0) {
    busy.clear();
    const polledMs = performance.now();
    await turn();
    for (const server of open) {
      const nowMs = performance.now();
      const patience = (nowMs - beginMs) / CLOSE_WITHIN_MS;
      const isPatient = patience < 1;
      const longestGapMs = SHORTEST_GAP_MS + patience * (LONGEST_GAP_MS - SHORTEST_GAP_MS);
      if (isPatient && nowMs - polledMs > longestGapMs) break;
      if (isPatient && busy.has(server)) continue;
      server.close();
      open.delete(server);
    }
  }
}
