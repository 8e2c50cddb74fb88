/** Health, metrics and openapi.json: open to everyone who can reach the ops port. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { UnseenHeader } from '../core/header-watch.ts';
import { jsonSchemaOf } from './ops-routes.ts';

export interface Health {
  /** Whether proxies are answered. A store that is unavailable does not change this. */
  readonly ready: boolean;
  /** Whether the store is unavailable. */
  readonly degraded: boolean;
  /** Headers that proxies may not pass on. They do not change readiness. */
  readonly unseenHeaders: readonly UnseenHeader[];
}

export interface HealthOptions {
  /** The metrics as text. */
  readonly metrics: () => Promise<string>;
  /** The media type of the metrics. */
  readonly contentType: string;
  readonly health: () => Health;
}

const status = z.object({ status: z.string() });
const readiness = status.extend({
  unseen_headers: z
    .array(
      z.object({
        dialect: z.string().describe('The kind of proxy.'),
        header: z.string(),
      }),
    )
    .describe('Headers that the policy file needs but that no request through the proxy had.')
    .optional(),
});

const ALIVE = { 200: { description: 'Alive', ...jsonSchemaOf(status, 'output') } };
const READY = {
  200: { description: 'Ready', ...jsonSchemaOf(readiness, 'output') },
  503: { description: 'Not ready', ...jsonSchemaOf(status, 'output') },
};

export function addHealthRoutes(
  server: FastifyInstance,
  { metrics, contentType, health }: HealthOptions,
): void {
  server.get('/livez', { schema: { summary: 'Liveness', response: ALIVE } }, () => ({
    status: 'ok',
  }));
  server.get(
    '/readyz',
    { schema: { summary: 'Readiness: whether proxies are answered', response: READY } },
    (_request, reply) => {
      const { ready, degraded, unseenHeaders } = health();
      if (!ready) return reply.code(503).send({ status: 'not_ready' });
      return reply.send({
        status: degraded ? 'degraded' : 'ok',
        ...(unseenHeaders.length > 0 && { unseen_headers: unseenHeaders }),
      });
    },
  );
  server.get(
    '/metrics',
    { schema: { summary: 'Metrics for Prometheus', produces: ['text/plain'] } },
    async (_request, reply) => reply.type(contentType).send(await metrics()),
  );
  server.get('/openapi.json', { schema: { summary: 'This description' } }, () => server.swagger());
}
