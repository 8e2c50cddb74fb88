/** The `exempt` and `block` lists of the policy file: addresses and listed API keys. */
import {
  type AddressSet,
  canonicalAddress,
  compileAddressSet,
  countedAddress,
  exemptedAddress,
} from './address.ts';

/** An exempt client is not counted; a blocked client is denied. */
export type Access = 'exempt' | 'blocked';

/** When a client's list entries expire, in milliseconds since the epoch. 0: not listed; Infinity: no expiry. */
export interface ListedUntil {
  readonly exemptUntilMs: number;
  readonly blockedUntilMs: number;
}

export interface ListEntry {
  /** A CIDR range, an address or a named range. */
  readonly address: string | undefined;
  /** Identifier of a listed API key. */
  readonly key: string | undefined;
  /** Milliseconds since the epoch; Infinity for an entry without expiry. */
  readonly expiresMs: number;
}

export const NOT_LISTED: ListedUntil = { exemptUntilMs: 0, blockedUntilMs: 0 };

export interface AccessLists {
  /** Takes an address in its canonical spelling. */
  ofAddress(address: string): ListedUntil;
  /** Takes the identifier of a listed key. */
  ofKey(id: string): ListedUntil;
}

/** `named` are named ranges, as in `compileAddressSet`. Throws a RangeError that names an invalid address. */
export function compileAccessLists(
  exempt: readonly ListEntry[],
  block: readonly ListEntry[],
  named: Readonly<Record<string, readonly string[]>>,
): AccessLists {
  const exemptions = compileList(exempt, named);
  const blocks = compileList(block, named);
  return {
    ofAddress: (address) => {
      const counted = countedAddress(address);
      // A block of an IPv4 address holds for its tunnels too, and a block of 2002::/16 holds for all of 6to4.
      const spellings = counted === address ? [address] : [address, counted];
      return listedUntil(
        exemptions.ofAddress(exemptedAddress(address)),
        Math.max(...spellings.map(blocks.ofAddress)),
      );
    },
    ofKey: (id) => listedUntil(exemptions.ofKey(id), blocks.ofKey(id)),
  };
}

/** Most clients are on no list: they share one object. */
function listedUntil(exemptUntilMs: number, blockedUntilMs: number): ListedUntil {
  if (exemptUntilMs === 0 && blockedUntilMs === 0) return NOT_LISTED;
  return { exemptUntilMs, blockedUntilMs };
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
    const sameExpiry = addresses.get(expiresMs) ?? [];
    // Requests look up single addresses in this spelling.
    const single = canonicalAddress(address);
    sameExpiry.push(single === undefined ? address : exemptedAddress(single));
    addresses.set(expiresMs, sameExpiry);
  }
  // The latest expiry comes first, so the first set that contains an address decides.
  const sets: [number, AddressSet][] = [...addresses]
    .sort(([a], [b]) => b - a)
    .map(([expiresMs, ranges]) => [expiresMs, compileAddressSet(ranges, named)]);
  return {
    ofAddress: (address: string) => sets.find(([, has]) => has(address))?.[0] ?? 0,
    ofKey: (id: string) => keys.get(id) ?? 0,
  };
}
