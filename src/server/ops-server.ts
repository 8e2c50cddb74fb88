/** For operators and their tools: is it alive, is it ready, what does it measure. Never on the port of the proxies. */
import fastify, { type FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { HTTP_LIMITS } from './http-limits.ts';

export interface OpsServerOptions {
  readonly registry: Registry;
  /** Ready means that proxies are answered; a store that is away degrades answers and takes nobody out of service. */
  readonly health: () => { readonly ready: boolean; readonly degraded: boolean };
}

export function createOpsServer({ registry, health }: OpsServerOptions): FastifyInstance {
  const server = fastify({ ...HTTP_LIMITS, logger: false, forceCloseConnections: true });
  server.get('/livez', () => ({ status: 'ok' }));
  server.get('/readyz', (_request, reply) => {
    const { ready, degraded } = health();
    return reply
      .code(ready ? 200 : 503)
      .send({ status: ready ? (degraded ? 'degraded' : 'ok') : 'not_ready' });
  });
  server.get('/metrics', async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return server;
}
