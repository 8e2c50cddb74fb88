/** Whether the access lists of a policy file exempt or block a logged address. Undefined if they are empty. */
import type { Access } from '../../../gateway/core/identity/access-lists.ts';
import { rememberMembers } from '../../../gateway/core/identity/address-book.ts';
import { compileAccess } from '../../../gateway/core/identity/client-access.ts';
import { remember } from '../../../gateway/core/identity/remembered.ts';
import type { Naming } from '../../../gateway/core/matching/policy-set.ts';
import { NO_OVERRIDES } from '../../../gateway/core/overrides.ts';
import type { LogClient } from './client-address.ts';

const REMEMBERED = 100_000;
/** Only overrides look for a pseudonym. */
const UNNAMED = { daily: { current: '' }, long: undefined, wider: [] };

export function compileListedAccess({ accessLists, trustedProxies }: Naming) {
  const { exempt, block } = accessLists;
  if (exempt.length + block.length === 0) return undefined;
  const accessOf = compileAccess(rememberMembers(trustedProxies));
  const listedOf = remember(REMEMBERED, accessLists.ofAddress);
  return ({ address, isReported }: LogClient) => {
    const client = {
      ...{ apiKey: undefined, user: undefined, reported: isReported ? address : undefined },
      address: { partition: UNNAMED, listed: listedOf(address) },
    };
    return (nowMs: number): Access | undefined =>
      accessOf(client, { nowMs, overrides: NO_OVERRIDES, trace: undefined })?.access;
  };
}
