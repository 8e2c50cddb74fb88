/** Passes connections on to the port of the moment. */
import { connect, createServer } from 'node:net';
import { listenLocally } from '../../../support/local-server.ts';

export interface Switchboard extends AsyncDisposable {
  readonly port: number;
  /** How many connections came so far. */
  readonly connections: number;
  /** New connections go there; those that are open stay where they are. */
  target: number;
}

export async function startSwitchboard(target: number): Promise<Switchboard> {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    board.connections++;
    const { target: port } = board;
    const behind = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    client.pipe(behind).pipe(client);
    client.on('error', () => behind.destroy()).on('close', () => behind.destroy());
    behind.on('error', () => client.destroy()).on('close', () => client.destroySoon());
  });
  const { port, [Symbol.asyncDispose]: close } = await listenLocally(server);
  const board = { port, connections: 0, target, [Symbol.asyncDispose]: close };
  return board;
}
