/** An application behind a proxy. It records its requests, and sends rate-limit headers as well. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Upstream extends AsyncDisposable {
  readonly port: number;
  /** Every request that reached the application, in order. */
  readonly seen: Seen[];
}

export async function startUpstream(): Promise<Upstream> {
  const seen: Seen[] = [];
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const digest = createHash('sha256');
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      digest.update(chunk);
      bytes += chunk.length;
    });
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      seen.push({ method, url, headers, bytes, sha256: digest.digest('hex') });
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
  });
  server.maxHeadersCount = 0;
  // A proxy may use an idle connection again at any time.
  server.keepAliveTimeout = 3_600_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
