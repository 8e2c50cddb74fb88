/** An application that accepts any bytes in its headers, as lenient servers do, and answers 200 to every request. */
import { createServer } from 'node:net';
import { type LocalServer, listenLocally } from '../../support/local-server.ts';

export interface ByteApplication extends LocalServer {
  /** The head of every request that reached it, one character per byte, in order. */
  readonly heads: readonly string[];
}

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved';
const END = '\r\n\r\n';

/** Requests must have no body. */
export async function startByteApplication(): Promise<ByteApplication> {
  const heads: string[] = [];
  const server = createServer((socket) => {
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
  });
  return { ...(await listenLocally(server)), heads };
}
