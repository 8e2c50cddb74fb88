/** Whether the access lists of a policy file exempt or block a logged address. Undefined if they are empty. */
import { LRUCache } from 'lru-cache';
import type { Access, Listed } from '../../../gateway/core/identity/access-lists.ts';
import { rememberMembers } from '../../../gateway/core/identity/address-book.ts';
import { compileAccess } from '../../../gateway/core/identity/client-access.ts';
import type { Naming } from '../../../gateway/core/matching/policy-set.ts';
import { NO_OVERRIDES } from '../../../gateway/core/overrides.ts';
import type { LogClient } from './client-address.ts';
import { copyOf } from './client-book.ts';

const REMEMBERED = 100_000;
/** Only overrides look for a pseudonym. */
const UNNAMED = { daily: { current: '' }, long: undefined, wider: [] };

export function compileListedAccess({ accessLists, trustedProxies }: Naming) {
  const { exempt, block } = accessLists;
  if (exempt.length + block.length === 0) return undefined;
  const accessOf = compileAccess(rememberMembers(trustedProxies));
  const known = new LRUCache<string, Listed>({ max: REMEMBERED });
  return ({ address, isReported }: LogClient) => {
    let listed = known.get(address);
    if (listed === undefined) {
      listed = accessLists.ofAddress(address);
      known.set(copyOf(address), listed);
    }
    const client = {
      ...{ apiKey: undefined, user: undefined, reported: isReported ? address : undefined },
      address: { partition: UNNAMED, listed },
    };
    return (nowMs: number): Access | undefined =>
      accessOf(client, { nowMs, overrides: NO_OVERRIDES, trace: undefined })?.access;
  };
}
