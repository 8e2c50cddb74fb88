/** For operators and their tools: is it alive, is it ready, what does it measure. Never on the port of the proxies. */
import fastify, { type FastifyInstance } from 'fastify';
import { HTTP_LIMITS } from './http-limits.ts';

/** Ready means that proxies are answered; a store that is away degrades answers and takes nobody out of service. */
export interface Health {
  readonly ready: boolean;
  readonly degraded: boolean;
}

export interface OpsServerOptions {
  /** Metrics as text, and its media type. */
  readonly metrics: () => Promise<string>;
  readonly contentType: string;
  readonly health: () => Health;
}

const NOT_FOUND = {
  error: 'not_found',
  message: 'Nothing is here. Operators ask at /livez, /readyz and /metrics.',
};
const INTERNAL_ERROR = { error: 'internal_error' };

export function createOpsServer({
  metrics,
  contentType,
  health,
}: OpsServerOptions): FastifyInstance {
  const server = fastify({
    ...HTTP_LIMITS,
    logger: false,
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply) => {
      reply.hijack();
      reply.raw.writeHead(400, { 'Content-Length': '0' }).end();
    },
  });
  // Fastify would repeat the URL.
  server.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND));
  server.setErrorHandler((_error, _request, reply) => reply.code(500).send(INTERNAL_ERROR));
  server.get('/livez', () => ({ status: 'ok' }));
  server.get('/readyz', (_request, reply) => {
    const { ready, degraded } = health();
    return reply
      .code(ready ? 200 : 503)
      .send({ status: ready ? (degraded ? 'degraded' : 'ok') : 'not_ready' });
  });
  server.get('/metrics', async (_request, reply) => {
    return reply.type(contentType).send(await metrics());
  });
  return server;
}
