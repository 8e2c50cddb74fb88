/** An application that answers when a request has arrived, with the length and digest of its body. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

export interface ReceivedBody {
  readonly bytes: number;
  readonly sha256: string;
}

type Answer = (request: IncomingMessage, response: ServerResponse, body: ReceivedBody) => void;

export function recordingServer(answer: Answer): Server {
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const digest = createHash('sha256');
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      digest.update(chunk);
      bytes += chunk.length;
    });
    request.on('end', () => answer(request, response, { bytes, sha256: digest.digest('hex') }));
  });
  server.maxHeadersCount = 0;
  // A proxy may use an idle connection again at any time.
  server.keepAliveTimeout = 3_600_000;
  return server;
}
