/** A given number of requests as fast as they are answered, so that keys exist before they are measured. */
import { once } from 'node:events';
import { connect } from 'node:net';

export interface Filling {
  readonly url: string;
  readonly requests: number;
  /** They ask one after the other, as in clients.lua. */
  readonly clients: number;
}

const CONNECTIONS = 8;
/** Requests that one connection sends without waiting for an answer. */
const PIPELINED = 64;

export async function fill(filling: Filling): Promise<void> {
  let next = 0;
  const take = () => {
    const first = next;
    next = Math.min(next + PIPELINED, filling.requests);
    return { first, count: next - first };
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, () => send(filling, take)));
}

async function send(
  { url, clients }: Filling,
  take: () => { first: number; count: number },
): Promise<void> {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1');
  await once(socket, 'connect');
  try {
    for (let { first, count } = take(); count > 0; { first, count } = take()) {
      let requests = '';
      for (let i = first; i < first + count; i++) {
        const address = addressOf(i % clients);
        requests += `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nx-headgate-client-ip: ${address}\r\nx-headgate-peer-ip: ${address}\r\n\r\n`;
      }
      socket.write(requests);
      let text = '';
      while (text.split('\r\n\r\n').length <= count) text += (await once(socket, 'data'))[0];
      checkAnswers(text);
    }
  } finally {
    socket.destroy();
  }
}

/** An answer that was not measured has taken nothing. */
function checkAnswers(text: string): void {
  for (const answer of text.split('\r\n\r\n').slice(0, -1)) {
    if (!answer.startsWith('HTTP/1.1 200 ') || answer.includes('X-RateLimit-Mode')) {
      throw new Error(`no counted allow: ${answer}`);
    }
  }
}

/** The same as in clients.lua. */
function addressOf(client: number): string {
  return `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
}
