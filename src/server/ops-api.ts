/** The ops API: each route is an operation, for whoever may steer, described by its schemas. */
import type { FastifyInstance } from 'fastify';
import type { OperationErrorCode } from '../operations/operation-error.ts';
import type { Operate } from '../operations/operations.ts';
import type { AdminAccess } from './admin-access.ts';
import { OPS_ROUTES, type OpsRoute } from './ops-routes.ts';
import * as schemas from './ops-schemas.ts';

export interface OpsApiOptions {
  readonly operate: Operate;
  readonly access: AdminAccess;
  readonly onRefused: () => void;
}

export const STATUS_OF: Readonly<Record<OperationErrorCode, number>> = {
  invalid: 400,
  not_found: 404,
  conflict: 409,
  store_unavailable: 503,
  internal_error: 500,
};

const UNAUTHORIZED = {
  error: 'unauthorized',
  message: 'The token of HEADGATE_ADMIN_TOKEN is missing or wrong: Authorization: Bearer TOKEN',
};
const FORBIDDEN = {
  error: 'forbidden',
  message:
    'No token is set, so only this machine may ask, by localhost or a loopback address. Set HEADGATE_ADMIN_TOKEN for others.',
};

export function addOpsApi(server: FastifyInstance, options: OpsApiOptions): void {
  const { operate, access, onRefused } = options;
  server.addHook('onRequest', async (request, reply) => {
    const granted = access(request.headers);
    if (granted === 'granted') return;
    onRefused();
    if (granted === 'forbidden') return reply.code(403).send(FORBIDDEN);
    return reply.code(401).header('WWW-Authenticate', 'Bearer').send(UNAUTHORIZED);
  });
  server.addHook('preValidation', async (request) => {
    request.query = typed(request.query as Record<string, unknown>);
  });
  for (const route of OPS_ROUTES) {
    const { method, url, operation, body } = route;
    server.route({
      method,
      url,
      schema: schemaOf(route),
      // Of what has no schema, nothing was checked.
      handler: (request) =>
        operate(operation, {
          ...(body && (request.body as object)),
          ...(request.query as object),
          ...(request.params as object),
        }),
    });
  }
}

/** A query is all text: what it says of numbers and truth values is what a body would say. */
function typed(query: Record<string, unknown>): Record<string, unknown> {
  const meant = (value: unknown) => {
    if (value === 'true' || value === 'false') return value === 'true';
    return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  };
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, name === 'by' ? value : meant(value)]),
  );
}

function schemaOf({ operation, summary, params, query, body, answer }: OpsRoute) {
  const failure = (description: string) => ({ description, ...schemas.error });
  return {
    operationId: operation,
    summary,
    security: [{ token: [] }],
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    response: {
      200: { description: 'Done, or told', ...answer },
      400: failure('The question is malformed'),
      401: failure('The token is missing or wrong'),
      403: failure('No token is set, and the caller is not this machine'),
      404: failure('There is none of that name'),
      409: failure('There are too many overrides'),
      503: failure('Redis is away'),
    },
  };
}
