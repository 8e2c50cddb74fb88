import { BlockList, isIP } from 'node:net';
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

/** Whether one of the networks is within the range, or the same. */
export function holdsOneOf(range: string, networks: readonly string[]): boolean {
  const [address = '', prefix] = range.split('/');
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(address) === 0) return false;
  const list = new BlockList();
  list.addSubnet(address, Math.min(Number(prefix ?? 128), family === 'ipv6' ? 128 : 32), family);
  return networks.some((each) => {
    const [inner = ''] = each.split('/');
    return isIP(inner) !== 0 && list.check(inner, isIP(inner) === 6 ? 'ipv6' : 'ipv4');
  });
}
