/** Clients whom no policy counts, and clients whom nothing lets in: lists of addresses and of listed keys. */
import {
  type AddressSet,
  canonicalAddress,
  compileAddressSet,
  countedAddress,
  exemptedAddress,
} from './address.ts';

/** On which list a client is: it counts for nothing, or it is not let in. */
export type Access = 'exempt' | 'blocked';

/** Until when a client is on either list, in milliseconds since the epoch: 0 never was, Infinity has no end. */
export interface Standing {
  readonly exemptUntilMs: number;
  readonly blockedUntilMs: number;
}

export interface ListEntry {
  /** A CIDR range, an address or a named range. */
  readonly address: string | undefined;
  /** Identifier of a listed API key. */
  readonly key: string | undefined;
  readonly expiresMs: number;
}

export const NO_STANDING: Standing = { exemptUntilMs: 0, blockedUntilMs: 0 };

export interface Standings {
  /** Of an address in its canonical spelling. */
  ofAddress(address: string): Standing;
  ofKey(id: string): Standing;
}

/** Throws a RangeError that names an address which is none. */
export function compileStandings(
  exempt: readonly ListEntry[],
  block: readonly ListEntry[],
  named: Readonly<Record<string, readonly string[]>>,
): Standings {
  const exemptions = compileList(exempt, named);
  const blocks = compileList(block, named);
  const standing = (exemptUntilMs: number, blockedUntilMs: number) =>
    exemptUntilMs === 0 && blockedUntilMs === 0 ? NO_STANDING : { exemptUntilMs, blockedUntilMs };
  return {
    ofAddress: (address) => {
      const counted = countedAddress(address);
      // A block of 2002::/16 holds as well as one of the IPv4 address.
      const names = counted === address ? [address] : [address, counted];
      return standing(
        exemptions.ofAddress(exemptedAddress(address)),
        Math.max(...names.map(blocks.ofAddress)),
      );
    },
    ofKey: (id) => standing(exemptions.ofKey(id), blocks.ofKey(id)),
  };
}

function compileList(
  entries: readonly ListEntry[],
  named: Readonly<Record<string, readonly string[]>>,
) {
  const addresses = new Map<number, string[]>();
  const keys = new Map<string, number>();
  for (const { address, key, expiresMs } of entries) {
    if (key !== undefined) keys.set(key, Math.max(expiresMs, keys.get(key) ?? 0));
    if (address === undefined) continue;
    const together = addresses.get(expiresMs) ?? [];
    // A single address as its client will be looked up.
    const single = canonicalAddress(address);
    together.push(single === undefined ? address : exemptedAddress(single));
    addresses.set(expiresMs, together);
  }
  const sets: [number, AddressSet][] = [...addresses]
    .sort(([a], [b]) => b - a)
    .map(([expiresMs, ranges]) => [expiresMs, compileAddressSet(ranges, named)]);
  return {
    ofAddress: (address: string) => sets.find(([, has]) => has(address))?.[0] ?? 0,
    ofKey: (id: string) => keys.get(id) ?? 0,
  };
}
