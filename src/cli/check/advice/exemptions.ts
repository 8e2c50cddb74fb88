/** Finds the exemptions that cover a blocked entry. The time does not grow with the number of exemptions. */

import type { AccessEntry, AccessList } from '../../../gateway/config/policy-file/valid-file.ts';
import {
  canonicalAddress,
  compileAddressSet,
  exemptedAddress,
} from '../../../gateway/core/identity/address.ts';
import { type AddressSpan, networkAddress, spanOf } from './address-span.ts';

/** Indices of the list of exemptions. */
type Indices = readonly number[];

const LOCAL_NAMES = ['loopback', 'private'].map((name) => ({
  name,
  has: compileAddressSet([name]),
}));

/** Returns a function that finds the exemptions that cover all clients of an entry. */
export function compileExemptions(
  exempt: AccessList,
  cloudflare: readonly string[],
): (entry: AccessEntry) => Indices {
  const indices = new Map<string, number[]>();
  const prefixLengths = new Set<number>();
  const add = (name: string, index: number) => {
    indices.set(name, [...(indices.get(name) ?? []), index]);
  };
  for (const [index, { key, address }] of exempt.entries()) {
    if (key !== undefined) add(keyName(key), index);
    if (address === undefined) continue;
    for (const range of address === 'cloudflare' ? [address, ...cloudflare] : [address]) {
      const span = countedSpan(range);
      add(span === undefined ? range : networkName(span.first, span.bits), index);
      if (span !== undefined) prefixLengths.add(span.bits);
    }
  }
  const namesAround = (span: AddressSpan) => [
    ...[...prefixLengths]
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
  return (entry) => namesOf(entry).flatMap((name) => indices.get(name) ?? []);
}

/** The span of the address as exemptions look it up. */
function countedSpan(range: string): AddressSpan | undefined {
  const single = canonicalAddress(range);
  return spanOf(single === undefined ? range : exemptedAddress(single));
}

/** The space keeps it apart from the names of networks. */
function keyName(key: string): string {
  return `key ${key}`;
}

function networkName(first: string, bits: number): string {
  return `${first}/${bits}`;
}
