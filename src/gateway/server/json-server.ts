/** Answers calls of the rate limit service as JSON (`POST /json`), and health checks (`/healthcheck`). */
import type { Socket } from 'node:net';
import fastify from 'fastify';
import type { HeaderFields } from '../core/check-request.ts';
import { Connections } from './connections.ts';
import { isFromWebPage } from './from-web-page.ts';
import { guardHttp } from './guarded-http.ts';
import { HTTP_LIMITS } from './http-limits.ts';
import { compileSecretCheck } from './proxy-secret.ts';
import { WITHOUT_SCHEMAS } from './without-schemas.ts';

export interface JsonAnswer {
  readonly status: number;
  readonly body: string;
}

/** `headers` are those of the request. */
export type AnswerJson = (written: string, headers: HeaderFields) => Promise<JsonAnswer>;

export interface JsonServerOptions {
  readonly answer: AnswerJson;
  /** A caller must send one of these as a header. Empty: every caller is answered. */
  readonly proxySecrets: readonly string[];
  readonly onUnauthorized: () => void;
  /** An error in the part of one connection has closed it. */
  readonly onConnectionFault: (error: unknown) => void;
  readonly isHealthy: () => boolean;
}

export interface JsonServer {
  ready(): Promise<void>;
  /** Answers the requests of this connection. */
  take(connection: Socket): void;
  /** Waits at most so many milliseconds for requests that have begun, and closes every connection. */
  close(withinMs: number): Promise<void>;
}

/** In bytes. Every byte is read before other requests, so this bounds how long they wait. */
const BODY_LIMIT = 64 * 1024;
const JSON_TYPE = 'application/json';
const FORBIDDEN = '{"error":"The proxy secret is missing or wrong."}';
const FROM_A_WEB_PAGE = '{"error":"Web pages may not send calls."}';

export function createJsonServer(options: JsonServerOptions): JsonServer {
  const { answer, isHealthy, onUnauthorized } = options;
  const knowsSecret = compileSecretCheck(options.proxySecrets);
  const connections = new Connections();
  const server = fastify({
    ...HTTP_LIMITS,
    ...WITHOUT_SCHEMAS,
    logger: false,
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: 'idle',
  });
  guardHttp(server, options.onConnectionFault);
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
    if (!knowsSecret(request.headers)) {
      onUnauthorized();
      return reply.code(403).send(FORBIDDEN);
    }
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
