/** Copies keys from a database into the store, by their digests. Running it again changes nothing. */
import { listedKeyPartition } from '../core/identity/partition.ts';
import { digestOf, type KeyRecord, sha256Of } from '../keys/stored-keys.ts';
import { audited } from './changes.ts';
import { momentIn } from './key-end.ts';
import { doubtsOf, placeWarnings, requireStoredKeys } from './key-report.ts';
import type { Input, Output } from './operation-table.ts';
import type { Gateway } from './running-gateway.ts';
import type { ImportedKey } from './schemas/keys.ts';

const SHOWN_DIGITS = 12;

/** Keys that cannot be taken are refused alone: the others of the call are written. */
export async function importKeys(
  gateway: Gateway,
  { keys: given, reason, by = 'unknown' }: Input<'importKeys'>,
): Promise<Output<'importKeys'>> {
  const keys = requireStoredKeys(gateway);
  const digests = given.map(({ sha256 }) => digestOf(sha256));
  const kept = await keys.ofDigests(digests);
  const fresh = { isBlocked: false, addedMs: gateway.now() };
  const added = new Map<string, KeyRecord>();
  const replaced = new Map<string, KeyRecord>();
  const unchanged: KeyRecord[] = [];
  const refused: Output<'importKeys'>['refused'] = [];
  const doubtful: typeof refused = [];
  const doubtsAbout = doubtsOf(gateway);
  let changed = 0;
  for (const [index, each] of given.entries()) {
    const digest = digests[index] as string;
    const taken = kept[index] === undefined ? added : replaced;
    // A key may be twice in one call.
    const known = taken.get(digest) ?? kept[index];
    const message = mistakeIn(each, known);
    const record = { ...recordOf(each, known ?? fresh), digest };
    if (message !== undefined) {
      refused.push({ index, message });
      continue;
    }
    doubtful.push(...doubtsAbout(record).map((doubt) => ({ index, message: doubt })));
    if (known === undefined || !isSame(known, record)) {
      if (known !== undefined) changed++;
      taken.set(digest, record);
    } else unchanged.push(record);
  }
  const written = [...added.values(), ...replaced.values()];
  const change = `imported: ${added.size} added, ${changed} changed`;
  if (written.length > 0) {
    await audited(gateway, { action: 'import_keys', change, reason, by }, async () => {
      await keys.put([...added.values()]);
      await keys.replace([...replaced.values()]);
    });
  }
  // An import that stopped may have written them, and not have said so.
  await keys.announce(unchanged);
  const warnings = placeWarnings(gateway, [...written, ...unchanged]);
  const counts = { added: added.size, changed, unchanged: unchanged.length };
  return { ...counts, refused, doubtful, warnings };
}

function mistakeIn({ id, expires }: ImportedKey, known: KeyRecord | undefined): string | undefined {
  if (known !== undefined && known.id !== id) {
    const there = `${known.id} --sha256 ${sha256Of(known).slice(0, SHOWN_DIGITS)}`;
    return `another id has this key: revoke it there first (headgate keys revoke ${there})`;
  }
  if (typeof expires !== 'string' || momentIn(expires) !== undefined) return undefined;
  return 'expires: must be a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z';
}

/** The database knows the plan, the end and the comment; what operators blocked stays blocked. */
function recordOf(
  { id, plan, comment, expires }: ImportedKey,
  { isBlocked, addedMs }: Pick<KeyRecord, 'isBlocked' | 'addedMs'>,
): Omit<KeyRecord, 'digest'> {
  return {
    ...{ id, partition: listedKeyPartition(id), isBlocked, addedMs },
    plan: plan ?? undefined,
    comment: comment || undefined,
    endsMs: momentIn(expires ?? '') ?? Number.POSITIVE_INFINITY,
  };
}

function isSame(a: KeyRecord, b: KeyRecord): boolean {
  return a.plan === b.plan && a.comment === b.comment && a.endsMs === b.endsMs;
}
