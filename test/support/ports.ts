/**
 * Ports for programs under test. Each port is reserved for the test process that asked for it until that process ends,
 * so that test files which run at the same time never get the same one.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to outgoing connections and to servers that listen on port 0. */
const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 32_000;
const ATTEMPTS = 1_000;

/** A port of 127.0.0.1 that nothing listens on. Throws an Error if there is none. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT));
    if (await takePort(port)) return port;
  }
  throw new Error(`no free port from ${LOWEST_PORT} to ${HIGHEST_PORT}`);
}

/** Reserves this port. False if a test or another program has it. */
export async function takePort(port: number): Promise<boolean> {
  return port < HIGHEST_PORT && (await canListen(port)) && (await reserve(port));
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer().listen({ port, host: '127.0.0.1' });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** Holds a socket of Linux's abstract namespace: the kernel gives the name to one process and frees it at its end. */
async function reserve(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const reservation = createServer().listen(`\0headgate-test-port-${port}`);
  reservation.unref();
  return once(reservation, 'listening').then(
    () => true,
    () => false,
  );
}
