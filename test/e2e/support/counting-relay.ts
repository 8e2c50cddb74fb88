/** Passes bytes on unchanged, and counts them and their connections: what a proxy sends to the gateway. */
import { connect, createServer } from 'node:net';
import { listenLocally } from '../../support/local-server.ts';

export interface CountingRelay extends AsyncDisposable {
  readonly port: number;
  /** Those with at least one byte: some proxies open connections ahead of need. */
  readonly connections: number;
  /** From the proxy. */
  readonly bytes: number;
}

export async function startCountingRelay(targetPort: number): Promise<CountingRelay> {
  let connections = 0;
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    near.once('data', () => connections++);
    near.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const closeBoth = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on('error', () => {}).on('close', closeBoth);
    near.pipe(far).pipe(near);
  });
  const { port, [Symbol.asyncDispose]: close } = await listenLocally(server);
  return {
    port,
    get connections() {
      return connections;
    },
    get bytes() {
      return bytes;
    },
    [Symbol.asyncDispose]: close,
  };
}
