/** One request on each new connection, and how every connection ended. */
import { connect } from 'node:net';
import type { RunningProcess } from './process.ts';

type Fate = 'answered' | 'refused' | 'cut off';

export interface NewConnection {
  /** Resolves once the kernel of the server has accepted or refused it. */
  readonly opened: Promise<void>;
  readonly fate: Promise<Fate>;
}

/** Sends one request as soon as it is connected. */
function openConnection(place: number | string): NewConnection {
  const socket = (
    typeof place === 'number' ? connect(place, '127.0.0.1') : connect(place)
  ).setEncoding('latin1');
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

/** Connects to a port of this machine or to a unix socket. */
export function openConnections(place: number | string, count: number): NewConnection[] {
  return Array.from({ length: count }, () => openConnection(place));
}

/** Connections that the kernel has accepted for a frozen process, which gets the signal before it reads them. */
export async function connectBeforeSignal(
  place: number | string,
  process: Pick<RunningProcess, 'signal'>,
  signal: NodeJS.Signals,
): Promise<readonly NewConnection[]> {
  process.signal('SIGSTOP');
  const waiting = openConnections(place, 50);
  await Promise.all(waiting.map(({ opened }) => opened));
  process.signal(signal);
  process.signal('SIGCONT');
  return waiting;
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
