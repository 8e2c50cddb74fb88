/** A unix socket to listen on: for a proxy on this machine, and nobody whom the file system keeps out. */
import { once } from 'node:events';
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, createServer, type ServerOpts } from 'node:net';
import { type Listener, listenerOf, type TakeConnection } from './listener.ts';

/** Its owner and its group. */
const MODE = 0o660;

/** Takes over a socket that nobody listens on any more. Rejects when somebody does, or when it is another file. */
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
