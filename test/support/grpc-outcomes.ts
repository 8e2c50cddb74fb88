/** What replies to gRPC checks say. */
import { status } from '@grpc/grpc-js';
import { type CheckReply, responseHeadersOf } from './grpc-client.ts';

/** The status that the client gets, or the status of gRPC if there was no decision. */
export function outcome({ code, message }: CheckReply): number | string {
  if (message === undefined) return status[code];
  return message.denied_response?.status.code ?? 200;
}

export function headersOf({ message }: CheckReply): Record<string, string> {
  return message === undefined ? {} : responseHeadersOf(message);
}

/** Sends checks one after the other. */
export async function outcomes(times: number, check: (i: number) => Promise<CheckReply>) {
  const found: (number | string)[] = [];
  for (let i = 0; i < times; i++) found.push(outcome(await check(i)));
  return found;
}
