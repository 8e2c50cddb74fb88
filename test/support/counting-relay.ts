/** Passes bytes on as they are, and counts the connections that bring them: how a proxy keeps those to the gateway. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CountingRelay extends AsyncDisposable {
  readonly port: number;
  /** That brought anything: some proxies open one ahead of need. */
  readonly connections: number;
}

export async function startCountingRelay(targetPort: number): Promise<CountingRelay> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    near.once('data', () => connections++);
    for (const socket of [near, far]) {
      open.add(socket);
      // One side's end, however it comes, is the other's.
      socket
        .on('error', () => {})
        .on('close', () => {
          open.delete(socket);
          near.destroy();
          far.destroy();
        });
    }
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
