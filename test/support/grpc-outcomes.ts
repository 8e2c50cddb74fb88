/** What replies to gRPC checks say, and what a gateway has counted. */
import { status } from '@grpc/grpc-js';
import type { Gateway } from './gateway.ts';
import { type CheckReply, responseHeadersOf } from './grpc-client.ts';
import { call } from './http.ts';

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

/** The value of a metric with its labels; 0 if the gateway does not report it. */
export async function metric({ opsUrl }: Gateway, name: string): Promise<number> {
  const { body } = await call(opsUrl, '/metrics');
  const line = body.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}
