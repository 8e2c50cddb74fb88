/** Finds the name by which an operator would block or exempt a client of a test file. */
import { NO_OVERRIDES } from '../../gateway/core/overrides.ts';
import { clientNamed } from '../../gateway/operations/client-name.ts';
import type { Setting } from './policy-test.ts';
import { sentRequest } from './sent-request.ts';
import type { TestedPolicies } from './tested-policies.ts';
import { virtualSalts } from './virtual-salts.ts';

const ANY_REQUEST = { line: { method: 'GET', url: '/' }, headers: new Map() };

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
