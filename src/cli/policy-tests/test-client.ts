/** What a client of a test file sends, and the name by which an operator would block or exempt it. */
import type { CheckRequest } from '../../gateway/core/check-request.ts';
import { REQUEST_INFO } from '../../gateway/core/counting/outcome.ts';
import { NO_OVERRIDES } from '../../gateway/core/overrides.ts';
import { clientNamed } from '../../gateway/operations/client-name.ts';
import { toCheckRequest } from '../../gateway/operations/explain.ts';
import type { SendStep, Setting } from './policy-test.ts';
import { keyOfClient, type TestedPolicies } from './tested-policies.ts';
import { virtualSalts } from './virtual-gateway.ts';

type SentStep = Pick<SendStep, 'line' | 'client' | 'headers' | 'metadata'>;

export function sentRequest(
  { line, client, headers, metadata }: SentStep,
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
  const { [REQUEST_INFO]: units, ...filters } = { ...client.metadata, ...metadata };
  const from = { proxy, peer, client: address };
  const request = toCheckRequest({ ...line, headers: all, ...from, metadata: filters });
  return {
    ...request,
    estimates: units === undefined ? undefined : new Map([[REQUEST_INFO, units]]),
  };
}

function keyHeader(header: string, id: string): [string, readonly string[]] {
  const key = keyOfClient(id);
  return [header, [header === 'authorization' ? `Bearer ${key}` : key]];
}

const ANY_REQUEST = { line: { method: 'GET', url: '/' }, headers: new Map(), metadata: undefined };

/**
 * A partition for a key or a user, else the address. Any other text is a name as operators write it. Throws an
 * OperationError if it names no client.
 */
export function operatorName(text: string, setting: Setting, policies: TestedPolicies): string {
  const salts = virtualSalts().at(setting.startMs, true);
  const client = setting.clients.get(text);
  if (client === undefined) {
    clientNamed(text, policies.set.naming, salts);
    return text;
  }
  const request = sentRequest({ ...ANY_REQUEST, client }, policies, setting.proxyAddress);
  let address = setting.proxyAddress;
  const { kind, partition } = policies.set.identify(request, {
    nowMs: setting.startMs,
    salts,
    overrides: NO_OVERRIDES,
    trace(event) {
      if (event.type === 'client-address') address = event.address ?? event.proxy;
    },
  });
  return kind === 'api_key' || kind === 'user' ? partition : address;
}
