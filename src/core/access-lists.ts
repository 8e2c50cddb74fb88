/** The `exempt` and `block` lists of the policy file: addresses and listed API keys. */
import {
  addressBits,
  canonicalAddress,
  cidrsOf,
  countedAddress,
  exemptedAddress,
  rangeBits,
} from './address.ts';

/** An exempt client is not counted; a blocked client is denied. */
export type Access = 'exempt' | 'blocked';

export interface ListEntry {
  /** A CIDR range, an address or a named range. */
  readonly address: string | undefined;
  /** Identifier of a listed API key. */
  readonly key: string | undefined;
  /** Milliseconds since the epoch; Infinity for an entry without expiry. */
  readonly expiresMs: number;
  /** File and line, `policies.yaml:12`. */
  readonly place?: string | undefined;
  /** What the author of the file wrote at the entry. */
  readonly comment?: string | undefined;
}

/** The entry of each list that names a client. Of several, the one that expires last. */
export interface Listed {
  readonly exempt: ListEntry | undefined;
  readonly block: ListEntry | undefined;
}

/** Why a client is exempt or blocked. */
export interface ClientAccess {
  readonly access: Access;
  /** The entry of the policy file that says so. */
  readonly entry?: ListEntry | undefined;
  /** An override says so, whatever the policy file says. */
  readonly isOverride: boolean;
  /** When the override was made, milliseconds since the epoch. */
  readonly overriddenMs?: number | undefined;
}

export const NOT_LISTED: Listed = { exempt: undefined, block: undefined };

export interface AccessLists {
  /** Takes an address in its canonical spelling. */
  ofAddress(address: string): Listed;
  /** Takes the identifier of a listed key. */
  ofKey(id: string): Listed;
  readonly exempt: readonly ListEntry[];
  readonly block: readonly ListEntry[];
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
    ofAddress: (address) =>
      listed(
        exemptions.ofAddress(exemptedAddress(address)),
        // A block of an IPv4 address holds for its tunnels too, and a block of 2002::/16 holds for all of 6to4.
        lasting(blocks.ofAddress(address), blocks.ofAddress(countedAddress(address))),
      ),
    ofKey: (id) => listed(exemptions.ofKey(id), blocks.ofKey(id)),
    exempt,
    block,
  };
}

export function isInForce(entry: ListEntry | undefined, nowMs: number): entry is ListEntry {
  return entry !== undefined && nowMs < entry.expiresMs;
}

/** Most clients are on no list: they share one object. */
function listed(exempt: ListEntry | undefined, block: ListEntry | undefined): Listed {
  return exempt === undefined && block === undefined ? NOT_LISTED : { exempt, block };
}

function compileList(
  entries: readonly ListEntry[],
  named: Readonly<Record<string, readonly string[]>>,
) {
  const keys = new Map<string, ListEntry>();
  /** By the leading bits that all addresses of a range share. */
  const ranges = new Map<string, ListEntry>();
  for (const entry of entries) {
    const { address, key } = entry;
    if (key !== undefined) keepLasting(keys, key, entry);
    if (address === undefined) continue;
    // Requests look up single addresses in this spelling.
    const single = canonicalAddress(address);
    const cidrs = single === undefined ? cidrsOf(address, named) : [exemptedAddress(single)];
    for (const cidr of cidrs) keepLasting(ranges, rangeBits(cidr), entry);
  }
  const lengths = [...new Set([...ranges.keys()].map((bits) => bits.length))];
  return {
    ofAddress(address: string): ListEntry | undefined {
      if (lengths.length === 0) return undefined;
      const bits = addressBits(address);
      let found: ListEntry | undefined;
      for (const length of lengths) {
        if (length <= bits.length) found = lasting(found, ranges.get(bits.slice(0, length)));
      }
      return found;
    },
    ofKey: (id: string) => keys.get(id),
  };
}

function keepLasting(map: Map<string, ListEntry>, name: string, entry: ListEntry): void {
  map.set(name, lasting(map.get(name), entry) ?? entry);
}

function lasting(a: ListEntry | undefined, b: ListEntry | undefined): ListEntry | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.expiresMs > a.expiresMs ? b : a;
}
