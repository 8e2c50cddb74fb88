/** Closes a connection of an HTTP server if an error belongs to it. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ConnectionGuard, guardOf } from './connection-guard.ts';

type Listener = (...args: unknown[]) => void;

export function guardHttp(server: FastifyInstance, onFault: (error: unknown) => void): void {
  const http = server.server;
  // Node's own listener, and that of Fastify.
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
  // A handler of a request with a body is called when the body has arrived.
  server.addHook('preHandler', ({ raw }, _reply, done) => {
    const guard = guardOf(raw.socket);
    // On the second address of `localhost`, Fastify listens with a server of its own, whose connections have no guard.
    if (guard === undefined) done();
    else guard.leave(done);
  });
}
