/** Copies keys from a database into the store, by their digests. Running it again changes nothing. */
import { listedKeyPartition } from '../core/identity/partition.ts';
import type { KeyRecord } from '../keys/stored-keys.ts';
import { audited } from './changes.ts';
import { momentIn } from './key-end.ts';
import { requireStoredKeys, warningsOf } from './key-report.ts';
import type { Input, Output } from './operation-table.ts';
import type { Gateway } from './running-gateway.ts';
import type { ImportedKey } from './schemas/keys.ts';

type Refused = Output<'importKeys'>['refused'];

/** Keys that cannot be taken are refused alone: the others of the call are written. */
export async function importKeys(
  gateway: Gateway,
  { keys: given, reason, by = 'unknown' }: Input<'importKeys'>,
): Promise<Output<'importKeys'>> {
  const keys = requireStoredKeys(gateway);
  const nowMs = gateway.now();
  const digests = given.map(({ sha256 }) => Buffer.from(sha256, 'hex').toString('base64url'));
  const kept = await Promise.all(digests.map((digest) => keys.ofDigest(digest)));
  const taken = new Map<string, KeyRecord>();
  const refused: Refused = [];
  let added = 0;
  let changed = 0;
  for (const [index, each] of given.entries()) {
    const digest = digests[index] as string;
    // A key may be twice in one call.
    const known = taken.get(digest) ?? kept[index];
    const message = mistakeIn(each, known);
    if (message !== undefined) {
      refused.push({ index, message });
      continue;
    }
    const record = recordOf(each, { digest, known, nowMs });
    if (known === undefined) added++;
    else if (isSame(known, record)) continue;
    else changed++;
    taken.set(digest, record);
  }
  const written = [...taken.values()];
  const change = `imported: ${added} added, ${changed} changed`;
  if (written.length > 0) {
    await audited(gateway, { action: 'import_keys', change, reason, by }, () => keys.put(written));
  }
  const unchanged = given.length - refused.length - added - changed;
  const warnings = warningsOf(gateway, written);
  return { added, changed, unchanged, refused, warnings };
}

function mistakeIn({ id, expires }: ImportedKey, known: KeyRecord | undefined): string | undefined {
  if (known !== undefined && known.id !== id) {
    return 'another id has this key: revoke it there first (headgate keys revoke)';
  }
  if (typeof expires !== 'string' || momentIn(expires) !== undefined) return undefined;
  return 'expires: must be a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z';
}

interface Kept {
  readonly digest: string;
  readonly known: KeyRecord | undefined;
  readonly nowMs: number;
}

/** The database knows the plan, the end and the comment; what operators blocked stays blocked. */
function recordOf(
  { id, plan, comment, expires }: ImportedKey,
  { digest, known, nowMs }: Kept,
): KeyRecord {
  return {
    ...{ id, digest, partition: listedKeyPartition(id) },
    plan: plan ?? undefined,
    comment: comment || undefined,
    endsMs: momentIn(expires ?? '') ?? Number.POSITIVE_INFINITY,
    isBlocked: known?.isBlocked ?? false,
    addedMs: known?.addedMs ?? nowMs,
  };
}

function isSame(a: KeyRecord, b: KeyRecord): boolean {
  return a.plan === b.plan && a.comment === b.comment && a.endsMs === b.endsMs;
}
