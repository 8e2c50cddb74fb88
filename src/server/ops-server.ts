/** For operators and their tools: how the gateway is, what it measures, and the API to steer it. Never on the port of the proxies. */
import swagger from '@fastify/swagger';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { VERSION } from '../config/version.ts';
import type { UnseenHeader } from '../core/header-watch.ts';
import { OperationError } from '../operations/operation-error.ts';
import type { Operate } from '../operations/operations.ts';
import { compileAdminAccess } from './admin-access.ts';
import { Connections } from './connections.ts';
import { HTTP_LIMITS } from './http-limits.ts';
import { oncePerTurn } from './once-per-turn.ts';
import { addOpsApi, STATUS_OF } from './ops-api.ts';
import * as schemas from './ops-schemas.ts';

/** Ready means that proxies are answered; a store that is away degrades answers and takes nobody out of service. */
export interface Health {
  readonly ready: boolean;
  readonly degraded: boolean;
  /** Headers that proxies may not pass on: a detail, which takes nobody out of service. */
  readonly unseenHeaders: readonly UnseenHeader[];
}

export interface OpsServerOptions {
  /** Metrics as text, and its media type. */
  readonly metrics: () => Promise<string>;
  readonly contentType: string;
  readonly health: () => Health;
  readonly operate: Operate;
  /** Without one, only this machine may steer. */
  readonly adminToken: string | undefined;
  /** Somebody else tried to. */
  readonly onRefused: () => void;
  readonly onFault: (error: unknown) => void;
}

const NOT_FOUND = {
  error: 'not_found',
  message:
    'Nothing is here. Operators ask at /livez, /readyz, /metrics, /stats and /v1; /openapi.json says how.',
};
const INTERNAL_ERROR = { error: 'internal_error', message: 'A fault of headgate: see its log.' };

/** A request that somebody wants explained may be as long as requests are. */
const BODY_LIMIT = 64 * 1024;

/** Enough for probes, Prometheus and a few operators. */
const MOST_CONNECTIONS = 64;

const OPENAPI = {
  openapi: '3.1.0',
  info: { title: 'headgate operations', version: VERSION },
  components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
} as const;

export function createOpsServer(options: OpsServerOptions): FastifyInstance {
  const server = fastify({
    ...HTTP_LIMITS,
    logger: false,
    forceCloseConnections: true,
    bodyLimit: BODY_LIMIT,
    // What is misspelled is told, not left out.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, allErrors: true } },
    frameworkErrors: (_error, _request, reply) => {
      reply.hijack();
      reply.raw.writeHead(400, { 'Content-Length': '0' }).end();
    },
  });
  // Probes are answered however many connections say nothing, or read slowly.
  const connections = new Connections(MOST_CONNECTIONS);
  server.server.on('connection', (connection) => connections.addInPlaceOfOldest(connection));
  // Fastify would repeat the URL.
  server.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND));
  server.setErrorHandler((error: FastifyError | OperationError, _request, reply) => {
    if (error instanceof OperationError) {
      const { code, message } = error;
      return reply.code(STATUS_OF[code]).send({ error: code, message });
    }
    const { statusCode = 500 } = error;
    if (statusCode >= 500) {
      options.onFault(error);
      return reply.code(500).send(INTERNAL_ERROR);
    }
    return reply.code(statusCode).send({ error: 'invalid', message: mistakesIn(error) });
  });
  server.register(swagger, { openapi: OPENAPI });
  // A client may ask a hundred times at once.
  const metrics = oncePerTurn(options.metrics);
  server.register(async (scope) => addHealth(scope, { ...options, metrics }));
  server.register(async (scope) => {
    const { operate, adminToken, onRefused } = options;
    addOpsApi(scope, { operate, access: compileAdminAccess(adminToken), onRefused });
  });
  return server;
}

/** What anybody may ask who can reach the port. */
function addHealth(server: FastifyInstance, { metrics, contentType, health }: OpsServerOptions) {
  const told = { 200: { description: 'It is', ...schemas.status } };
  server.get('/livez', { schema: { summary: 'Whether it is alive', response: told } }, () => ({
    status: 'ok',
  }));
  const readiness = {
    200: { description: 'It is', ...schemas.readiness },
    503: { description: 'It is not', ...schemas.status },
  };
  server.get(
    '/readyz',
    { schema: { summary: 'Whether proxies are answered', response: readiness } },
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
    { schema: { summary: 'What it measures, for Prometheus', produces: ['text/plain'] } },
    async (_request, reply) => reply.type(contentType).send(await metrics()),
  );
  server.get('/openapi.json', { schema: { summary: 'This description' } }, () => server.swagger());
}

/** Every mistake, with its place. */
function mistakesIn({ validation, validationContext, message }: FastifyError): string {
  if (validation === undefined) return message;
  return validation
    .map(({ instancePath, keyword, params, message: what }) => {
      const place = `${validationContext}${instancePath.replaceAll('/', '.')}`;
      if (keyword === 'additionalProperties')
        return `${place}.${params.additionalProperty} is not known`;
      if (keyword === 'required') return `${place}.${params.missingProperty} is missing`;
      const allowed = keyword === 'enum' ? `: ${[params.allowedValues].flat().join(', ')}` : '';
      return `${place} ${what}${allowed}`;
    })
    .join('; ');
}
