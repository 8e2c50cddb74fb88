import { addressRange } from '../../../gateway/config/policy-file/access-schema.ts';

/** Names such as `localhost` and ranges of every address are none. */
export function isRange(network: string): boolean {
  return addressRange.safeParse(network).success;
}

/** Other programs do not know the name `cloudflare`. */
export function canBeTrusted(network: string): boolean {
  return isRange(network) && network !== 'cloudflare';
}

export const UNTRUSTED =
  'identity.trusted_proxies has networks, and none of every address. Name the networks of your proxies.';

/** The ranges that are in every list. */
export function sharedBy(lists: readonly (readonly string[])[]): string[] {
  const [first = [], ...others] = lists;
  return [...new Set(first)].filter(
    (each) => isRange(each) && others.every((list) => list.includes(each)),
  );
}
