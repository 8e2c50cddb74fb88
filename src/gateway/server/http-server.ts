/** What the HTTP servers have in common: how long callers may take, and that a fault closes one connection only. */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify';
import { ConnectionGuard, guardOf } from './connection-guard.ts';

/** An import would read all that node:http exports, and some of it loads fetch. */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** How long a caller may take to send a request. */
const REQUEST_TIMEOUT_MS = 5_000;
export const HTTP_OPTIONS = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  // Proxies send a whole request at once. This is also how long a new connection may send nothing.
  headersTimeout: 3_000,
  connectionsCheckingInterval: 1_000,
};

/** Without these options, Fastify loads its compilers of schemas, which are over a hundred files. No route has a schema. */
const WITHOUT_SCHEMAS = {
  compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema },
};

function refuseSchema(): never {
  throw new Error('a route has a schema');
}

/** `onFault` is called when an error in the part of one connection has closed it. */
export function createHttpServer(
  options: FastifyHttpOptions<Server>,
  onFault: (error: unknown) => void,
): FastifyInstance {
  const server = fastify({
    requestTimeout: REQUEST_TIMEOUT_MS,
    schemaController: WITHOUT_SCHEMAS,
    logger: false,
    ...options,
    http: { ...HTTP_OPTIONS, ...options.http },
  });
  guardConnections(server.server, onFault);
  // A handler of a request with a body is called when the body has arrived.
  server.addHook('preHandler', ({ raw }, _reply, done) => {
    const guard = guardOf(raw.socket);
    // If `localhost` has two addresses, Fastify opens a second server, whose connections have no guard.
    if (guard === undefined) done();
    else guard.leave(done);
  });
  return server;
}

type Listener = (...args: unknown[]) => void;

/** The listeners of `connection` and `request` that the server has are called for the part of a connection. */
export function guardConnections(http: Server, onFault: (error: unknown) => void): void {
  const [accept] = http.listeners('connection') as [Listener];
  const [answer] = http.listeners('request') as [Listener];
  http.off('connection', accept).off('request', answer);
  http.on('connection', (connection: Socket) => {
    const guard = new ConnectionGuard(connection, onFault);
    guard.enter(() => Reflect.apply(accept, http, [connection]));
  });
  http.on('request', (message: IncomingMessage, response) =>
    guardOf(message.socket)?.leave(() => Reflect.apply(answer, http, [message, response])),
  );
}
