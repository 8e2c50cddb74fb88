/** Closes listening sockets without losing a connection. */
import type { AddressInfo, Server, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

export type TakeConnection = (connection: Socket) => void;

export interface Listener {
  /** A string is the path of a unix socket. */
  readonly address: AddressInfo | string;
  /** Accepts every waiting connection, then stops listening. Connections stay open. */
  close(): Promise<void>;
}

/** The longest time that new connections can keep a listener open. */
const CLOSE_WITHIN_MS = 500;
/** In a longer turn of the event loop, connections may have arrived after the kernel was polled. */
const QUICK_TURN_MS = 1;

export function listenerOf(servers: readonly Server[]): Listener {
  const [first] = servers as [Server];
  const address = first.address() as AddressInfo | string;
  return { address, close: () => closeWhenQuiet(servers) };
}

/**
 * When a listening socket closes, the kernel resets its unaccepted connections. So each socket is closed right after a
 * turn of the event loop in which it got none.
 */
async function closeWhenQuiet(servers: readonly Server[]): Promise<void> {
  const open = new Set(servers.filter(({ listening }) => listening));
  const busy = new Set<Server>();
  for (const server of open) server.on('connection', () => busy.add(server));
  const endMs = performance.now() + CLOSE_WITHIN_MS;
  // The current turn may have begun long ago.
  await turn();
  while (open.size > 0) {
    busy.clear();
    const startedMs = performance.now();
    await turn();
    const nowMs = performance.now();
    if (nowMs - startedMs > QUICK_TURN_MS && nowMs < endMs) continue;
    for (const server of open) {
      if (busy.has(server) && nowMs < endMs) continue;
      server.close();
      open.delete(server);
    }
  }
}
