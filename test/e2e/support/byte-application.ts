/** An application that accepts any bytes in its headers, as lenient servers do, and answers 200 to every request. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface ByteApplication extends AsyncDisposable {
  readonly port: number;
  /** The head of every request that reached it, one character per byte, in order. */
  readonly heads: readonly string[];
}

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved';
const END = '\r\n\r\n';

/** Requests must have no body. */
export async function startByteApplication(): Promise<ByteApplication> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (let end = text.indexOf(END); end !== -1; end = text.indexOf(END)) {
        heads.push(text.slice(0, end));
        text = text.slice(end + END.length);
        socket.write(ANSWER);
      }
    });
    // A proxy may reset its connection.
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    heads,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
