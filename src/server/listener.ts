/** Sockets that listen at one address, and how to close them without losing a connection. */
import type { AddressInfo, Server, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

export type TakeConnection = (connection: Socket) => void;

export interface Listener {
  /** Or the path of a unix socket. */
  readonly address: AddressInfo | string;
  /** Accepts every connection that waits for it, then closes. Connections stay open. */
  close(): Promise<void>;
}

/** Connections that keep coming do not keep a listener open for longer than this. */
const CLOSE_WITHIN_MS = 500;
/** In a longer turn of the event loop, connections may have come after the kernel was asked for them. */
const QUICK_TURN_MS = 1;

export function listenerOf(servers: readonly Server[]): Listener {
  const [first] = servers as [Server];
  const address = first.address() as AddressInfo | string;
  return { address, close: () => closeWhenQuiet(servers) };
}

/**
 * The kernel resets connections that nobody has accepted when their socket closes. So each socket is closed right after
 * a turn of the event loop in which it had none.
 */
async function closeWhenQuiet(servers: readonly Server[]): Promise<void> {
  const open = new Set(servers.filter(({ listening }) => listening));
  const busy = new Set<Server>();
  for (const server of open) server.on('connection', () => busy.add(server));
  const endMs = performance.now() + CLOSE_WITHIN_MS;
  // The first turn may have begun long ago.
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
