/** An application behind a proxy. It records its requests, and sends rate-limit headers as well. */
import type { IncomingHttpHeaders } from 'node:http';
import { type LocalServer, listenLocally } from './local-server.ts';
import { type ReceivedBody, recordingServer } from './recording-server.ts';

interface Seen extends ReceivedBody {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Upstream extends LocalServer {
  /** Every request that reached the application, in order. */
  readonly seen: Seen[];
}

export async function startUpstream(): Promise<Upstream> {
  const seen: Seen[] = [];
  const server = recordingServer(({ method = '', url = '', headers }, response, body) => {
    seen.push({ method, url, headers, ...body });
    response.writeHead(url === '/forbidden' ? 403 : 200, {
      'Content-Type': 'text/plain',
      'X-RateLimit-Limit': '999',
      'X-RateLimit-Remaining': '999',
      'X-RateLimit-Reset': '999',
      RateLimit: '"upstream";r=999;t=999',
      'RateLimit-Policy': '"upstream";q=999;w=999',
    });
    response.end('the application');
  });
  return { ...(await listenLocally(server)), seen };
}
