/** Health, metrics and openapi.json: open to every caller that can reach the ops port. */
import type { FastifyInstance } from 'fastify';
import type { UnseenHeader } from '../../core/header-watch.ts';

export interface Health {
  /** A store that is unavailable does not change this. */
  readonly ready: boolean;
  readonly degraded: boolean;
  /** They do not change readiness. */
  readonly unseenHeaders: readonly UnseenHeader[];
  readonly unresponsiveWorkers?: readonly number[];
}

export interface HealthOptions {
  readonly metrics: () => Promise<string>;
  readonly contentType: string;
  readonly health: () => Health;
  /** If undefined, only callers on this machine may use the ops API. */
  readonly adminToken: string | undefined;
}

export function addHealthRoutes(
  server: FastifyInstance,
  { metrics, contentType, health, adminToken }: HealthOptions,
): void {
  server.get('/livez', () => ({ status: 'ok' }));
  server.get('/readyz', (_request, reply) => {
    const { ready, degraded, unseenHeaders, unresponsiveWorkers = [] } = health();
    const unresponsive = unresponsiveWorkers.length > 0 && {
      unresponsive_workers: unresponsiveWorkers,
    };
    if (!ready) return reply.code(503).send({ status: 'not_ready', ...unresponsive });
    const unseen = unseenHeaders.map(({ dialect, header }) => ({ dialect, header }));
    return reply.send({
      status: degraded || unresponsive ? 'degraded' : 'ok',
      ...unresponsive,
      ...(unseen.length > 0 && { unseen_headers: unseen }),
    });
  });
  server.get('/metrics', async (_request, reply) => reply.type(contentType).send(await metrics()));
  server.get('/openapi.json', async () => {
    // Loaded only now, because most gateways never send it.
    const { openApiDocument } = await import('./openapi.ts');
    return openApiDocument(adminToken !== undefined);
  });
}
