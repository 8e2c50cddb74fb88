/** The server for operators and their tools: health, metrics, the ops API and its page. It never shares a port with proxies. */
import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { UnseenHeader } from '../../core/header-watch.ts';
import type { Operate } from '../../operations/operations.ts';
import { Connections } from '../connections.ts';
import { createHttpServer } from '../http-server.ts';
import { addOpsApi, compileAdminAccess, compilePageAccess } from './ops-api.ts';
import { answerErrors, OPS_ERRORS } from './ops-errors.ts';
import { addOpsPage } from './ops-page.ts';

export interface OpsServerOptions extends HealthOptions {
  readonly operate: Operate;
  /** If it is undefined, there is no page `/ui`. */
  readonly pageFolder: string | undefined;
  readonly onRefused: () => void;
  readonly onFault: (error: unknown) => void;
  readonly onConnectionFault: (error: unknown) => void;
}

/** Bytes. A field may have as many characters as its schema says, each of them escaped. */
const BODY_LIMIT = 256 * 1024;

/** Enough for probes, Prometheus and the browsers of forty operators. A browser opens up to six. */
const MAX_CONNECTIONS = 256;

export function createOpsServer(options: OpsServerOptions): FastifyInstance {
  const { adminToken, pageFolder: folder } = options;
  const server = createHttpServer(
    {
      ...OPS_ERRORS,
      http: { requireHostHeader: false },
      forceCloseConnections: true,
      bodyLimit: BODY_LIMIT,
    },
    options.onConnectionFault,
  );
  // Probes get through however many connections are silent or read slowly.
  const connections = new Connections({ max: MAX_CONNECTIONS });
  server.server.on('connection', (connection) => connections.addInPlaceOfLeastRecent(connection));
  server.server.on('request', ({ socket }) => connections.use(socket));
  answerErrors(server, options.onFault);
  // A hundred scrapes at once are rendered once.
  const metrics = oncePerTurn(options.metrics);
  server.register(async (scope) => addHealthRoutes(scope, { ...options, metrics }));
  server.register(async (scope) => {
    const { operate, onRefused } = options;
    addOpsApi(scope, { operate, access: compileAdminAccess(adminToken), onRefused });
  });
  if (folder !== undefined) {
    server.register(async (scope) =>
      addOpsPage(scope, { folder, mayLoad: compilePageAccess(adminToken) }),
    );
  }
  return server;
}

/** Shares one result between all callers of one turn of the event loop. It is made at the end of the turn. */
function oncePerTurn<T>(make: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  const atEndOfTurn = async () => {
    await endOfTurn();
    next = undefined;
    return make();
  };
  return () => {
    next ??= atEndOfTurn();
    return next;
  };
}

export interface Health {
  /** A store that is unavailable does not change this. */
  readonly ready: boolean;
  readonly degraded: boolean;
  /** They do not change readiness. */
  readonly unseenHeaders: readonly UnseenHeader[];
  readonly unresponsiveWorkers?: readonly number[];
  /** Policies that reserve units while no gateway gets the outcome of a request. */
  readonly unsettledPolicies: readonly string[];
}

interface HealthOptions {
  readonly metrics: () => Promise<string>;
  readonly contentType: string;
  readonly health: () => Health;
  /** If undefined, only callers on this machine may use the ops API. */
  readonly adminToken: string | undefined;
}

function addHealthRoutes(
  server: FastifyInstance,
  { metrics, contentType, health, adminToken }: HealthOptions,
): void {
  server.get('/livez', () => ({ status: 'ok' }));
  server.get('/readyz', (_request, reply) => {
    const { ready, degraded, unseenHeaders, unsettledPolicies, ...others } = health();
    const { unresponsiveWorkers = [] } = others;
    const unresponsive = unresponsiveWorkers.length > 0 && {
      unresponsive_workers: unresponsiveWorkers,
    };
    if (!ready) return reply.code(503).send({ status: 'not_ready', ...unresponsive });
    const unsettled = unsettledPolicies.length > 0 && { unsettled_policies: unsettledPolicies };
    const unseen = unseenHeaders.map(({ dialect, header }) => ({ dialect, header }));
    return reply.send({
      status: degraded || unresponsive || unsettled ? 'degraded' : 'ok',
      ...unresponsive,
      ...unsettled,
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
