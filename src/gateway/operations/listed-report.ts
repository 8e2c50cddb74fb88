/** Names the entries of `exempt` and `block` in the policy file that name a client, and what they do to it. */
import { isInForce, type ListEntry } from '../core/identity/access-lists.ts';
import { canonicalAddress } from '../core/identity/address.ts';
import type { PolicySet } from '../core/matching/policy-set.ts';
import type { AccessEvent } from '../core/trace.ts';
import { isoTime } from '../denials/iso-time.ts';
import type { ListedReport } from './schemas/fields.ts';
import { shortTime } from './texts.ts';

type List = ListedReport['list'];

/** Those of the address come first. */
export function listedReports(event: AccessEvent, nowMs: number): ListedReport[] {
  return event.listed.flatMap(({ all }, i) =>
    all.map(({ list, entry }) => {
      const isShared = list === 'exempt' && i === 0 && event.isShared;
      const why = isInForce(entry, nowMs) ? whyIdle(list, isShared, event) : 'it expired';
      return listedReport(list, entry, why);
    }),
  );
}

/** Why an entry has no effect; undefined for one that applies. `isShared`: it names the address of a trusted proxy. */
function whyIdle(list: List, isShared: boolean, { access }: AccessEvent): string | undefined {
  if (isShared) return 'many clients share the address of a trusted proxy, which is never exempt';
  if (access?.access === (list === 'exempt' ? 'exempt' : 'blocked')) return undefined;
  return access?.isOverride
    ? `an override takes precedence: ${access.access}`
    : 'exempt wins over block';
}

export function listedReport(list: List, entry: ListEntry, whyIdle?: string): ListedReport {
  const { address, key, place, comment, expiresMs, isInStore } = entry;
  const named = key === undefined ? (address ?? '') : `key ${key}`;
  const until = Number.isFinite(expiresMs) ? isoTime(expiresMs) : undefined;
  const verb = list === 'exempt' ? 'exempts' : 'blocks';
  const what = [
    isInStore && key !== undefined
      ? `${named} is blocked (headgate keys): ${unblockCommand(key)}`
      : `${place ?? 'the policy file'} ${verb} ${named}`,
    ...(comment === undefined ? [] : [JSON.stringify(comment)]),
    ...(until === undefined ? [] : [`until ${shortTime(until)} UTC`]),
  ].join(', ');
  return {
    list,
    entry: named,
    ...(place !== undefined && { place }),
    ...(isInStore && { is_in_store: true as const }),
    ...(comment !== undefined && { comment }),
    ...(until !== undefined && { until }),
    applies: whyIdle === undefined,
    what: whyIdle === undefined ? what : `${what}; no effect: ${whyIdle}`,
  };
}

/** For a shell: an id may have blanks. */
export function unblockCommand(id: string): string {
  const word = /^\w[\w.@:-]*$/.test(id) ? id : `'${id.replaceAll("'", String.raw`'\''`)}'`;
  return `headgate keys change ${word} --unblock`;
}

export function blockAt(place: string | undefined, { naming }: PolicySet): ListEntry | undefined {
  return naming.accessLists.block.find((entry) => entry.place === place && place !== undefined);
}

export function isStillListed(entry: ListEntry | undefined, policies: PolicySet): boolean {
  const now = blockAt(entry?.place, policies);
  return now !== undefined && now.address === entry?.address && now.key === entry?.key;
}

/** What the policy file says now of the client that an entry of an earlier file named. */
export function fileNow(entry: ListEntry, { naming }: PolicySet, nowMs: number): string {
  const { exempt, block, isInPart } = naming.accessLists.ofEntry(entry, nowMs);
  const { key, address = '' } = entry;
  const kind = key !== undefined ? 'key' : canonicalAddress(address) ? 'address' : 'range';
  if (exempt !== undefined) return `${exempt.place ?? 'it'} exempts that ${kind} now`;
  if (isInPart && block === undefined) {
    return `it names a part of that ${kind} now; headgate clients show ADDRESS says what applies to an address`;
  }
  return block === undefined
    ? `no entry blocks that ${kind} now`
    : `${block.place ?? 'it'} blocks that ${kind} now`;
}
