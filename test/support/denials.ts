/** Whose denials unit tests tell of. */
import type { Denied } from '../../src/gateway/core/counting/decision.ts';

/** A client of this partition, behind an address of its own unless it is one. */
export function deniedClient(client: string, address = client): Denied {
  const daily = { current: address, previous: undefined };
  return {
    client,
    isMadeUp: client.startsWith('k.'),
    address: { daily, long: undefined, wider: [] },
    identity: client.startsWith('i.') ? 'ip' : 'api_key',
  };
}
