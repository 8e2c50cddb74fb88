/** Which exemptions have all whom an entry means, in time that does not grow with their number. */
import { canonicalAddress, compileAddressSet, exemptedAddress } from '../../core/address.ts';
import type { AccessEntry, AccessList } from '../policy-file/access-schema.ts';
import { type AddressSpan, networkAddress, spanOf } from './address-span.ts';

/** Places in the list of exemptions. */
type Places = readonly number[];

const LOCAL_NAMES = ['loopback', 'private'].map((name) => ({
  name,
  has: compileAddressSet([name]),
}));

export function compileExemptions(
  exempt: AccessList,
  cloudflare: readonly string[],
): (entry: AccessEntry) => Places {
  const places = new Map<string, number[]>();
  const lengths = new Set<number>();
  const add = (name: string, place: number) => {
    places.set(name, [...(places.get(name) ?? []), place]);
  };
  for (const [place, { key, address }] of exempt.entries()) {
    if (key !== undefined) add(keyName(key), place);
    if (address === undefined) continue;
    for (const range of address === 'cloudflare' ? [address, ...cloudflare] : [address]) {
      const span = countedSpan(range);
      add(span === undefined ? range : networkName(span.first, span.bits), place);
      if (span !== undefined) lengths.add(span.bits);
    }
  }
  const namesAround = (span: AddressSpan) => [
    ...[...lengths]
      .filter((bits) => bits <= span.bits)
      .map((bits) => networkName(networkAddress(span.first, bits), bits)),
    ...LOCAL_NAMES.filter(({ has }) => has(span.first) && has(span.last)).map(({ name }) => name),
  ];
  const namesOf = ({ key, address }: AccessEntry) => {
    if (key !== undefined) return [keyName(key)];
    if (address === undefined) return [];
    const span = countedSpan(address);
    return span === undefined ? [address] : namesAround(span);
  };
  return (entry) => namesOf(entry).flatMap((name) => places.get(name) ?? []);
}

/** As clients are looked up. */
function countedSpan(range: string): AddressSpan | undefined {
  const single = canonicalAddress(range);
  return spanOf(single === undefined ? range : exemptedAddress(single));
}

/** No address has a space in it. */
function keyName(key: string): string {
  return `key ${key}`;
}

function networkName(first: string, bits: number): string {
  return `${first}/${bits}`;
}
