/** A server of HTTP/2 on connections that others accept (https://www.rfc-editor.org/rfc/rfc9113). */
import type { Socket } from 'node:net';
import { Connection, type Guard } from './connection.ts';
import { SWEEP_EVERY_MS, SWEEPS_PER_PING } from './limits.ts';
import type { OnRequest } from './requests.ts';
import { Writes } from './writes.ts';

export function createHttp2Server() {
  const open = new Set<Connection>();
  const writes = new Writes();
  const onClosed = (connection: Connection) => open.delete(connection);
  let sweeps = 0;
  const timer = setInterval(() => {
    sweeps++;
    for (const connection of open) {
      connection.sweep();
      if (sweeps % SWEEPS_PER_PING === 0) connection.ping();
    }
  }, SWEEP_EVERY_MS).unref();
  return {
    /** `socket` is one of TCP or TLS. A client of anything but HTTP/2 is disconnected (h2c needs prior knowledge). */
    open(socket: Socket, guard: Guard, onRequest: OnRequest): void {
      open.add(new Connection(socket, { guard, writes, onRequest, onClosed }));
    },
    /** Makes peers send new requests elsewhere, and closes each connection when its streams have ended. */
    close(): void {
      clearInterval(timer);
      for (const connection of open) connection.depart();
    },
  };
}
