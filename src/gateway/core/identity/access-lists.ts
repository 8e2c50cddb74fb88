/** The `exempt` and `block` lists of the policy file: addresses and listed API keys. */
import {
  addressBits,
  canonicalAddress,
  cidrsOf,
  countedAddress,
  exemptedAddress,
  rangeBits,
} from './address.ts';

export type Access = 'exempt' | 'blocked';

export interface ListEntry {
  readonly address: string | undefined;
  readonly key: string | undefined;
  /** Milliseconds since the epoch; Infinity for an entry without expiry. */
  readonly expiresMs: number;
  readonly place?: string | undefined;
  /** An operator blocked the key where the store keeps it: no entry of the policy file. */
  readonly isInStore?: boolean;
  readonly comment?: string | undefined;
}

export interface Listed {
  /** If several entries name the client, this is the one that expires last. */
  readonly exempt: ListEntry | undefined;
  readonly block: ListEntry | undefined;
  readonly all: readonly { readonly list: 'exempt' | 'block'; readonly entry: ListEntry }[];
}

export interface ClientAccess {
  readonly access: Access;
  readonly entry?: ListEntry | undefined;
  readonly isOverride: boolean;
  readonly overriddenMs?: number | undefined;
}

export const NOT_LISTED: Listed = { exempt: undefined, block: undefined, all: [] };

export interface AccessLists {
  /** Takes an address in its canonical spelling. */
  ofAddress(address: string): Listed;
  ofKey(id: string): Listed;
  /** Takes an entry of the file, or of the file before. */
  ofEntry(entry: ListEntry, nowMs: number): ListedAgain;
  readonly exempt: readonly ListEntry[];
  readonly block: readonly ListEntry[];
}

interface ListedAgain {
  readonly exempt: ListEntry | undefined;
  readonly block: ListEntry | undefined;
  /** Entries of `block` in force name a part of it. */
  readonly isInPart: boolean;
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
      const blocked = blocks.ofAddress(address);
      return listed(
        exemptions.ofAddress(exemptedAddress(address)),
        // A block of an IPv4 address holds for its tunnels too, and a block of 2002::/16 holds for all of 6to4.
        counted === address ? blocked : [...new Set([...blocked, ...blocks.ofAddress(counted)])],
      );
    },
    ofKey: (id) => listed(exemptions.ofKey(id), blocks.ofKey(id)),
    ofEntry: (entry, nowMs) => ({
      exempt: exemptions.covering(entry, nowMs),
      block: blocks.covering(entry, nowMs),
      isInPart: blocks.overlaps(entry, nowMs),
    }),
    exempt,
    block,
  };
}

export function isInForce(entry: ListEntry | undefined, nowMs: number): entry is ListEntry {
  return entry !== undefined && nowMs < entry.expiresMs;
}

/** Most clients are on no list: they share one object. */
function listed(exempt: readonly ListEntry[], block: readonly ListEntry[]): Listed {
  if (exempt.length === 0 && block.length === 0) return NOT_LISTED;
  return {
    exempt: lasting(exempt),
    block: lasting(block),
    all: [
      ...exempt.map((entry) => ({ list: 'exempt', entry }) as const),
      ...block.map((entry) => ({ list: 'block', entry }) as const),
    ],
  };
}

const NONE: readonly ListEntry[] = [];

function compileList(
  entries: readonly ListEntry[],
  named: Readonly<Record<string, readonly string[]>>,
) {
  const keys = new Map<string, ListEntry[]>();
  /** The keys are the leading bits that all addresses of a range share. */
  const ranges = new Map<string, ListEntry[]>();
  for (const entry of entries) {
    if (entry.key !== undefined) add(keys, entry.key, entry);
    for (const bits of bitsOf(entry, named)) add(ranges, bits, entry);
  }
  const ofKey = (id: string): readonly ListEntry[] => keys.get(id) ?? NONE;
  const rangesInForce = (nowMs: number) =>
    entries.filter((entry) => entry.key === undefined && isInForce(entry, nowMs));
  const lengths = [...new Set([...ranges.keys()].map((bits) => bits.length))];
  return {
    ofAddress(address: string): readonly ListEntry[] {
      if (lengths.length === 0) return NONE;
      const bits = addressBits(address);
      return lengths.flatMap((length) =>
        length <= bits.length ? (ranges.get(bits.slice(0, length)) ?? NONE) : NONE,
      );
    },
    ofKey,
    /** The first entry in force that names everything that another entry names. */
    covering(other: ListEntry, nowMs: number): ListEntry | undefined {
      const { key } = other;
      if (key !== undefined) return ofKey(key).find((entry) => isInForce(entry, nowMs));
      const parts = bitsOf(other, named);
      return rangesInForce(nowMs).find((entry) => {
        const wider = bitsOf(entry, named);
        return parts.every((part) => wider.some((bits) => part.startsWith(bits)));
      });
    },
    /** Whether an entry in force has an address of another entry. */
    overlaps(other: ListEntry, nowMs: number): boolean {
      const parts = bitsOf(other, named);
      return rangesInForce(nowMs)
        .flatMap((entry) => bitsOf(entry, named))
        .some((bits) => parts.some((part) => bits.startsWith(part) || part.startsWith(bits)));
    },
  };
}

/** None for an entry that names a key. */
function bitsOf({ address }: ListEntry, named: Readonly<Record<string, readonly string[]>>) {
  if (address === undefined) return [];
  // Requests look up single addresses in this spelling.
  const single = canonicalAddress(address);
  const cidrs = single === undefined ? cidrsOf(address, named) : [exemptedAddress(single)];
  return cidrs.map(rangeBits);
}

function add(map: Map<string, ListEntry[]>, name: string, entry: ListEntry): void {
  const known = map.get(name);
  if (known === undefined) map.set(name, [entry]);
  else known.push(entry);
}

function lasting(entries: readonly ListEntry[]): ListEntry | undefined {
  const [first, ...others] = entries;
  return others.reduce((a, b) => (a && b.expiresMs <= a.expiresMs ? a : b), first);
}
