/** The request of a client, with the headers that its client and its step give it. */
import type { CheckRequest } from '../../gateway/core/check-request.ts';
import { toCheckRequest } from '../../gateway/operations/explain.ts';
import type { Client, HeaderValues } from './policy-test.ts';
import type { RequestLine } from './step-schema.ts';
import { keyOfClient, type TestedPolicies } from './tested-policies.ts';

export interface Sent {
  readonly line: RequestLine;
  readonly client: Client;
  /** Replace those of the client. Without values: the header is left out. */
  readonly headers: HeaderValues;
}

export function sentRequest(
  { line, client, headers }: Sent,
  { apiKeyHeader }: TestedPolicies,
  proxy: string,
): CheckRequest {
  const { address, peer, apiKey } = client;
  const values = new Map([
    ...(apiKey === undefined ? [] : [keyHeader(apiKeyHeader, apiKey)]),
    ...client.headers,
    ...headers,
  ]);
  const all = [...values].flatMap(([name, each]) => each.map((value) => [name, value] as const));
  return toCheckRequest({ ...line, headers: all, proxy, peer, client: address });
}

function keyHeader(header: string, id: string): [string, readonly string[]] {
  const key = keyOfClient(id);
  return [header, [header === 'authorization' ? `Bearer ${key}` : key]];
}
