/** The ops API: a route for each operation, open only to callers with admin access. */

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isThisMachine } from '../../core/identity/address.ts';
import { OperationError } from '../../operations/operation-error.ts';
import type { Operate } from '../../operations/operations.ts';
import { compileSecrets, isFromWebPage } from '../callers.ts';
import { type JsonSchema, OPS_ROUTES, type OpsRoute } from './ops-routes.ts';

export interface OpsApiOptions {
  readonly operate: Operate;
  readonly access: AdminAccess;
  readonly onRefused: () => void;
}

const UNAUTHORIZED = {
  error: 'unauthorized',
  message:
    'The admin token is missing or wrong. Send the value of HEADGATE_ADMIN_TOKEN: Authorization: Bearer TOKEN',
};
export const FORBIDDEN = {
  error: 'forbidden',
  message:
    'HEADGATE_ADMIN_TOKEN is not set, so only calls from this machine to localhost or a loopback address are allowed. Set it to allow others.',
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
  for (const route of OPS_ROUTES) {
    server.route({
      method: route.method,
      url: route.url,
      // The operation checks its input itself.
      handler: (request) => operate(route.operation, inputOf(route, request)),
    });
  }
}

/** Throws an OperationError for a body that is not an object, or that repeats a field of the path. */
function inputOf(route: OpsRoute, request: FastifyRequest): object {
  const { params, query, body } = route.schemas();
  const inPath = request.params as Record<string, unknown>;
  const others = {
    ...(query && typedQuery(request.query as Record<string, unknown>, query)),
    ...(body && objectIn(request.body)),
  };
  const repeated = Object.keys(params?.properties ?? {}).find((name) => name in others);
  if (repeated !== undefined) {
    throw new OperationError('invalid', `${repeated}: is not known here, only in the path`);
  }
  return { ...others, ...inPath };
}

/** Without a body, an operation misses its required fields. */
function objectIn(body: unknown): object {
  if (body === undefined) return {};
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  throw new OperationError('invalid', 'the body must be a JSON object');
}

/** A query is all text: turns it into numbers and booleans where the schema wants them. */
function typedQuery(query: Record<string, unknown>, { properties = {} }: JsonSchema) {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const schema = properties[name];
      return [name, typeof schema === 'object' ? typedValue(value, schema.type) : value];
    }),
  );
}

function typedValue(value: unknown, type: JsonSchema['type']): unknown {
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if (type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value)) {
    return Number(value);
  }
  return value;
}

export type AdminAccess = (
  headers: IncomingHttpHeaders,
) => 'granted' | 'unauthorized' | 'forbidden';

/**
 * Decides which callers may use the ops API: those with the admin token or, if none is set, those on this machine. In that case
 * the port is on a loopback address, and web pages are kept out: by the Host header, because an attacker can point a DNS
 * name at this machine, and by the headers that browsers add (Origin, Sec-Fetch-Site). The page of the ops server itself is
 * let in: browsers send its own origin with every change that it makes.
 */
export function compileAdminAccess(token: string | undefined): AdminAccess {
  if (token === undefined) {
    return (headers) =>
      namesThisMachine(headers.host) && !isFromWebPage(headers, ownOrigin(headers))
        ? 'granted'
        : 'forbidden';
  }
  const isToken = compileSecrets([token]);
  return ({ authorization = '' }) => {
    // RFC 6750, section 2.1; the scheme in any case (RFC 9110, section 11.1).
    const [, given] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
    return given !== undefined && isToken(given) ? 'granted' : 'unauthorized';
  };
}

/** The page of the ops server holds no data: if there is a token, every caller may load it, else those on this machine. */
export function compilePageAccess(
  token: string | undefined,
): (headers: IncomingHttpHeaders) => boolean {
  return ({ host }) => token !== undefined || namesThisMachine(host);
}

/** The ops server speaks plain HTTP. Browsers write an origin in lower case (RFC 6454, section 6). */
function ownOrigin({ host = '' }: IncomingHttpHeaders): string {
  return `http://${host.toLowerCase()}`;
}

function namesThisMachine(host = ''): boolean {
  return isThisMachine(host.replace(/:\d+$/, ''));
}
