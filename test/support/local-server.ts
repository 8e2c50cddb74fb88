/** Servers of the tests, on a free port of this machine. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface LocalServer extends AsyncDisposable {
  readonly port: number;
}

/** Listens, on this port if there is one. At its end it closes all connections, also those of WebSockets. */
export async function listenLocally(server: Server, port = 0): Promise<LocalServer> {
  const connections = new Set<Socket>();
  server.on('connection', (connection: Socket) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const connection of connections) connection.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
