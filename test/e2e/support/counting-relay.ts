/** Passes bytes on unchanged, and counts them and their connections: what a proxy sends to the gateway. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CountingRelay extends AsyncDisposable {
  readonly port: number;
  /** Those with at least one byte: some proxies open connections ahead of need. */
  readonly connections: number;
  /** From the proxy. */
  readonly bytes: number;
}

export async function startCountingRelay(targetPort: number): Promise<CountingRelay> {
  const open = new Set<Socket>();
  let connections = 0;
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    near.once('data', () => connections++);
    near.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    for (const socket of [near, far]) {
      open.add(socket);
      // If one side closes or fails, both do.
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
    get bytes() {
      return bytes;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
