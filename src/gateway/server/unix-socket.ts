/** Listens on a unix socket, for a proxy on this machine. File permissions say who can connect. */
import { once } from 'node:events';
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, createServer, type ServerOpts } from 'node:net';
import { type Listener, listenerOf, type TakeConnection } from './listener.ts';

/** Read and write for owner and group. */
const MODE = 0o660;

/** Replaces a socket that no process listens on. Rejects if one does, or if the path is another file. */
export async function listenOnSocket(
  path: string,
  options: ServerOpts,
  take: TakeConnection,
): Promise<Listener> {
  if (isSocket(path) && !(await isAnswered(path))) unlinkSync(path);
  const server = createServer(options, take);
  await once(server.listen({ path }), 'listening');
  chmodSync(path, MODE);
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
