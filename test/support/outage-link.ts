/** A TCP way to a server that can be cut and mended: while it is cut, every connection ends as soon as it is made. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Link extends AsyncDisposable {
  readonly port: number;
  cut(): void;
  mend(): void;
}

export async function startLink(targetPort: number): Promise<Link> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer({ noDelay: true }, (near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      endAll();
    },
    mend() {
      isCut = false;
    },
    [Symbol.asyncDispose]: async () => {
      endAll();
      server.close();
      await once(server, 'close');
    },
  };
}
