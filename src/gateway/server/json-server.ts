/** Answers calls of the rate limit service as JSON (`POST /json`), and health checks (`/healthcheck`). */
import type { HeaderFields } from '../core/check-request.ts';
import { type CallerOptions, compileCallerCheck, isFromWebPage } from './callers.ts';
import { Connections, type ProxyServer } from './connections.ts';
import { createHttpServer } from './http-server.ts';

export interface JsonAnswer {
  readonly status: number;
  readonly body: string;
}

interface JsonServerOptions extends CallerOptions {
  readonly answer: (written: string, headers: HeaderFields) => Promise<JsonAnswer>;
  readonly isHealthy: () => boolean;
}

/** In bytes. Every byte is read before other requests, so this bounds how long they wait. */
const BODY_LIMIT = 64 * 1024;
const JSON_TYPE = 'application/json';
const FORBIDDEN = '{"error":"The proxy secret is missing or wrong."}';
const FROM_A_WEB_PAGE = '{"error":"Web pages may not send calls."}';

export function createJsonServer(options: JsonServerOptions): ProxyServer {
  const { answer, isHealthy } = options;
  const isCaller = compileCallerCheck(options);
  const connections = new Connections();
  const server = createHttpServer(
    { bodyLimit: BODY_LIMIT, forceCloseConnections: 'idle' },
    options.onConnectionFault,
  );
  server.server.on('request', ({ socket }) => connections.hasRequest(socket));
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body);
  });
  server.get('/healthcheck', (_request, reply) => {
    const healthy = isHealthy();
    return reply.code(healthy ? 200 : 500).send(healthy ? 'OK' : 'not healthy');
  });
  server.post('/json', async (request, reply) => {
    reply.type(JSON_TYPE);
    if (isFromWebPage(request.headers)) return reply.code(403).send(FROM_A_WEB_PAGE);
    if (!isCaller(request.headers)) return reply.code(403).send(FORBIDDEN);
    const { status, body } = await answer(String(request.body ?? ''), request.headers);
    return reply.code(status).send(body);
  });
  return {
    async ready() {
      await server.ready();
      server.server.emit('listening');
    },
    take(connection) {
      if (connections.add(connection)) server.server.emit('connection', connection);
    },
    async close(withinMs) {
      await server.close();
      await connections.ended(withinMs);
    },
  };
}
