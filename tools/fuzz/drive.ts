/** Carries out the plan of one connection. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Plan, Step } from './plan.ts';

export interface Place {
  readonly port: number;
  readonly hasTls: boolean;
}

const ANSWER_WITHIN_MS = 100;
const HANDSHAKE_WITHIN_MS = 5_000;
/** How long a connection stays open at its end. */
const LINGER_MS = 150;

/** Resolves once the connection is closed on this side. Never rejects. */
export async function drive(plan: Plan, { port, hasTls }: Place): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on('error', () => {}).once('close', () => resolve());
  const link = hasTls && plan.handshakes ? await handshake(socket) : socket;
  if (link !== undefined) {
    if (plan.reads) link.resume();
    await send(link, plan.steps);
    await end(plan, link, socket);
  }
  socket.destroy();
  await closed;
}

/** Undefined if it fails. */
async function handshake(socket: Socket): Promise<Socket | undefined> {
  const link = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  link.on('error', () => {});
  await happens(link, ['secureConnect', 'close'], HANDSHAKE_WITHIN_MS);
  return link.authorizationError !== undefined && link.encrypted && !link.destroyed
    ? link
    : undefined;
}

async function send(link: Socket, steps: readonly Step[]): Promise<void> {
  let together: Buffer[] = [];
  for (const { bytes, pause } of steps) {
    together.push(bytes);
    if (pause === 'none') continue;
    link.write(Buffer.concat(together));
    together = [];
    if (pause === 'turn') await turns();
    else if (pause === 'answer') await happens(link, ['data', 'close'], ANSWER_WITHIN_MS);
    else await happens(link, ['close'], pause);
    if (link.destroyed) return;
  }
  if (together.length > 0) link.write(Buffer.concat(together));
}

async function end({ ending, reads }: Plan, link: Socket, socket: Socket): Promise<void> {
  switch (ending) {
    case 'reset':
      // What was written goes out first.
      await turns();
      socket.resetAndDestroy();
      break;
    case 'destroy':
      await turns();
      break;
    case 'half':
      link.end();
      await happens(link, reads ? ['end', 'close'] : ['close'], LINGER_MS);
      break;
    case 'half-reset':
      link.end();
      await turns();
      socket.resetAndDestroy();
      break;
    case 'wait':
      await happens(link, reads ? ['end', 'close'] : ['close'], LINGER_MS);
      break;
  }
}

async function turns(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves at one of the events, or after so many milliseconds. */
function happens(link: Socket, events: readonly string[], withinMs: number): Promise<void> {
  if (link.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      for (const event of events) link.off(event, done);
      // A listener of data makes a stream flow, and taking it away does not stop it.
      resolve();
    };
    const timer = setTimeout(done, withinMs);
    for (const event of events) link.once(event, done);
  });
}
