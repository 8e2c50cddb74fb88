/** Closes a connection of an HTTP server if an error belongs to it. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ConnectionGuard, guardOf } from './connection-guard.ts';

export function guardHttp(server: FastifyInstance, onFault: (error: unknown) => void): void {
  const http = server.server;
  const emit = http.emit;
  http.emit = (...event: unknown[]) => {
    const pass = () => Reflect.apply(emit, http, event);
    const [name, subject] = event;
    if (name === 'connection') new ConnectionGuard(subject as Socket, onFault).enter(pass);
    else if (name === 'request') leave((subject as IncomingMessage).socket, pass);
    else return pass();
    return true;
  };
  // A handler of a request with a body is called when the body has arrived.
  server.addHook('preHandler', ({ raw }, _reply, done) => leave(raw.socket, done));
}

/** On the second address of `localhost`, Fastify listens with a server of its own, whose connections have no guard. */
function leave(socket: Socket, work: () => void): void {
  const guard = guardOf(socket);
  if (guard === undefined) work();
  else guard.leave(work);
}
