/** What the fuzzer sends to the gRPC port. */
import { CHECK, CHECK_MESSAGE, frame as message } from '../../../test/support/grpc-frames.ts';
import { frame, literal, PREFACE, Type } from '../../../test/support/http2-frames.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Part, type Plan, part, planOf, planOfBeginning } from '../plan.ts';
import { Conversation } from './conversation.ts';

const END_HEADERS = 0x4;
const END_STREAM = 0x1;
/** One connection in so many stops after a byte of a conversation that proxies have. */
const BEGINNING_EVERY = 4;

export function grpcPlan(random: Random, i: number): Plan {
  if (i % BEGINNING_EVERY === 0) {
    const number = Math.floor(i / BEGINNING_EVERY);
    const parts = ORDINARY[number % ORDINARY.length] as readonly Part[];
    return planOfBeginning('grpc', parts, Math.floor(number / ORDINARY.length));
  }
  return planOf(random, 'grpc', new Conversation(random).parts());
}

/** Conversations that proxies have, or begin to have: with a host name and without, answered and refused. */
const ORDINARY: readonly (readonly Part[])[] = ['a', 'outbound|8081||r'].flatMap((authority) =>
  [
    [CHECK, 'application/grpc'],
    ['/x/Y', 'application/grpc'],
    [CHECK, 'text/plain'],
  ].map(([path = '', type = '']) => [
    part('preface', PREFACE),
    part('settings', frame(Type.settings, 0, 0)),
    ...call(1, authority, path, type),
    ...call(3, authority, CHECK, 'application/grpc'),
    part('reset', frame(Type.reset, 0, 3, Buffer.from([0, 0, 0, 8]))),
  ]),
);

function call(stream: number, authority: string, path: string, type: string): Part[] {
  const head = Buffer.concat([
    Buffer.from([0x83, 0x86]),
    literal(':path', path),
    Buffer.from([0x41, authority.length]),
    Buffer.from(authority),
    literal('content-type', type),
  ]);
  return [
    part(`headers on ${stream}`, frame(Type.headers, END_HEADERS, stream, head)),
    part(`data on ${stream}`, frame(0, END_STREAM, stream, message(CHECK_MESSAGE))),
  ];
}
