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
/**
 * Connections may arrive between the poll of the kernel and the close of a socket, so a socket is closed at most so long
 * after the poll. On a busy machine this takes many attempts, and the time grows with them.
 */
const SHORTEST_GAP_MS = 0.1;
const LONGEST_GAP_MS = 1;

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
  const beginMs = performance.now();
  // The current turn may have begun long ago.
  await turn();
  while (open.size > 0) {
    busy.clear();
    const polledMs = performance.now();
    await turn();
    for (const server of open) {
      const nowMs = performance.now();
      const patience = (nowMs - beginMs) / CLOSE_WITHIN_MS;
      const isPatient = patience < 1;
      const longestGapMs = SHORTEST_GAP_MS + patience * (LONGEST_GAP_MS - SHORTEST_GAP_MS);
      if (isPatient && nowMs - polledMs > longestGapMs) break;
      if (isPatient && busy.has(server)) continue;
      server.close();
      open.delete(server);
    }
  }
}
