/** One request on each new connection, and how every connection ended. */
import { connect } from 'node:net';

export type Fate = 'answered' | 'refused' | 'cut off';

export interface NewConnection {
  /** Resolves once the kernel of the server has accepted or refused it. */
  readonly opened: Promise<void>;
  readonly fate: Promise<Fate>;
}

/** Sends one request as soon as it is connected. */
function openConnection(port: number): NewConnection {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let isConnected = false;
  let answer = '';
  const opened = new Promise<void>((resolve) => {
    socket.on('connect', resolve).on('close', () => resolve());
  });
  socket.on('connect', () => {
    isConnected = true;
    socket.write('GET /envoy/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  });
  socket.on('data', (text: string) => {
    answer += text;
  });
  // Node emits `close` after it.
  socket.on('error', () => {});
  const fate = new Promise<Fate>((resolve) => {
    socket.on('close', () => {
      if (answer.startsWith('HTTP/1.1 ')) resolve('answered');
      else resolve(isConnected ? 'cut off' : 'refused');
    });
  });
  return { opened, fate };
}

export function openConnections(port: number, count: number): NewConnection[] {
  return Array.from({ length: count }, () => openConnection(port));
}

/** How many connections had each fate. */
export async function fatesOf(
  connections: readonly NewConnection[],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { fate } of connections) {
    const name = await fate;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
