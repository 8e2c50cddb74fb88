/** Peers of the gRPC port that reset, end or close in the middle of what they do. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest } from '../support/grpc-client.ts';
import { CHECK, CHECK_MESSAGE, frame as message } from '../support/grpc-frames.ts';
import { outcome } from '../support/grpc-outcomes.ts';
import {
  ACK,
  CANCEL,
  callHeaders,
  DATA_OF_PING,
  END_STREAM,
  frame,
  START,
  Type,
} from '../support/http2-frames.ts';

const ISTIO = 'outbound|8081||r';
const RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const PING = frame(Type.ping, 0, 0, DATA_OF_PING);
const PONG = frame(Type.ping, ACK, 0, DATA_OF_PING);

const data = (stream: number, flags = END_STREAM) =>
  frame(Type.data, flags, stream, message(CHECK_MESSAGE));
const reset = (stream: number) => frame(Type.reset, 0, stream, CANCEL);

/** What a peer sends, with this authority. */
const SENT: Record<string, (authority: string) => Buffer[]> = {
  'a call of an unknown method': (authority) => [
    callHeaders(1, { path: '/nope', authority }),
    data(1),
  ],
  'a call of an unknown method that it does not end': (authority) => [
    callHeaders(1, { path: '/nope', authority }),
    data(1, 0),
  ],
  'a request that is not gRPC': (authority) => [
    callHeaders(1, { path: CHECK, authority, contentType: 'text/plain' }),
    data(1),
  ],
  'a request that is not gRPC, and resets it': (authority) => [
    callHeaders(1, { path: CHECK, authority, contentType: 'text/plain' }),
    reset(1),
  ],
  'a call of an unknown method, and resets it': (authority) => [
    callHeaders(1, { path: '/nope', authority }),
    reset(1),
  ],
  'a check, and resets it': (authority) => [
    callHeaders(1, { path: CHECK, authority }),
    data(1),
    reset(1),
  ],
  'a call of a service that is off': (authority) => [
    callHeaders(1, { path: RATE_LIMIT, authority }),
    data(1),
  ],
};

/** When the peer closes: at once, after the first bytes of the gateway, after all answers. */
const WAITS: Record<string, (socket: Socket, received: () => Buffer) => Promise<void>> = {
  'at once': async () => {},
  'after the first bytes': async (socket, received) => {
    if (received().length === 0) await once(socket, 'data');
  },
  'after the answers': async (socket, received) => {
    while (!received().includes(PONG)) await once(socket, 'data');
  },
};
const ENDS = ['end', 'destroy', 'resetAndDestroy'] as const;

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess({ HEADGATE_GRPC_PORT: '0' });
});
// A crash ends it with 1.
afterAll(async () => expect(await gateway.stop()).toBe(0));

async function converse(
  frames: readonly Buffer[],
  wait: (socket: Socket, received: () => Buffer) => Promise<void>,
  end: (typeof ENDS)[number],
): Promise<void> {
  const socket = connect(gateway.grpcPort, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  let received = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
  });
  socket.write(Buffer.concat([START, ...frames, PING]));
  await wait(socket, () => received);
  socket[end]();
  if (!socket.closed) await once(socket.resume(), 'close');
}

describe.each([
  ['a host name', 'headgate'],
  ['no host name', ISTIO],
])('the gateway lives on after a peer whose :authority is %s', (_, authority) => {
  test.each(
    Object.keys(SENT).flatMap((sent) => Object.keys(WAITS).map((wait) => [sent, wait] as const)),
  )('sends %s, and closes %s', async (sent, wait) => {
    const check = [callHeaders(3, { path: CHECK, authority }), data(3)];
    for (const frames of [
      SENT[sent]?.(authority),
      [...(SENT[sent]?.(authority) ?? []), ...check],
    ]) {
      for (const end of ENDS) {
        for (let i = 0; i < 3; i++) await converse(frames ?? [], WAITS[wait] as never, end);
      }
    }
    using client = connectGrpc(gateway.grpcPort);
    expect(outcome(await client.check(envoyCheckRequest()))).toBe(200);
    expect(gateway.output()).not.toContain('"event":"crashed"');
  });
});
