/** What operators do with the API keys that the store keeps. Only the answer that makes a key has it. */
import { listedKeyPartition } from '../core/identity/partition.ts';
import { newKey } from '../keys/new-key.ts';
import { digestOf, type KeyRecord, sha256Of } from '../keys/stored-keys.ts';
import { audited, type Change } from './changes.ts';
import { endFrom, overlapFrom } from './key-end.ts';
import { keyReport, reportOf, requireStoredKeys, termsText, warningsOf } from './key-report.ts';
import { OperationError } from './operation-error.ts';
import type { Input, Output } from './operation-table.ts';
import type { Gateway } from './running-gateway.ts';

export async function addKey(
  gateway: Gateway,
  { id, plan, expires, comment, another, ...signed }: Input<'addKey'>,
): Promise<Output<'addKey'>> {
  const keys = requireStoredKeys(gateway);
  if (isInFile(gateway, id)) {
    throw new OperationError(
      'not_possible',
      'the policy file lists a key with this id: choose another id, or take that key out of identity.api_key.keys first',
    );
  }
  const nowMs = gateway.now();
  const endsMs = endFrom(expires, nowMs);
  const before = await keys.ofId(id);
  if (before.length > 0 && !another) {
    throw new OperationError(
      'not_possible',
      'this id has a key already: to replace it, headgate keys rotate; to add one that shares its quota, headgate keys add --another',
    );
  }
  const made = madeKey({
    id,
    plan: plan ?? (before.length > 0 ? newest(before).plan : undefined),
    comment: comment || undefined,
    isBlocked: before.some(({ isBlocked }) => isBlocked),
    endsMs,
    addedMs: nowMs,
  });
  const change = { ...ofKey('add_key', id, signed), change: `added: ${termsText(made.record)}` };
  await audited(gateway, change, () => keys.put([made.record]));
  return madeReport(gateway, made);
}

export async function rotateKey(
  gateway: Gateway,
  { id, overlap, expires, ...signed }: Input<'rotateKey'>,
): Promise<Output<'rotateKey'>> {
  const keys = requireStoredKeys(gateway);
  const nowMs = gateway.now();
  const before = await keysOfId(gateway, id);
  const latest = newest(before);
  const endsMs = expires === undefined ? latest.endsMs : endFrom(expires, nowMs);
  if (endsMs <= nowMs) {
    throw new OperationError(
      'not_possible',
      'the newest key of this id has ended: say with expires when the new one ends, or never',
    );
  }
  const isBlocked = before.some((each) => each.isBlocked);
  const made = madeKey({ ...latest, isBlocked, endsMs, addedMs: nowMs });
  const untilMs = nowMs + overlapFrom(overlap);
  const ending = before.map((each) => ({ ...each, endsMs: Math.min(each.endsMs, untilMs) }));
  const ended = ending.filter((each) => each.endsMs <= nowMs);
  const others = ending.filter((each) => each.endsMs > nowMs);
  const change = {
    ...ofKey('rotate_key', id, signed),
    change: `rotated: ${termsText(made.record)}; ${others.length} others end within ${overlap}, ${ended.length} removed`,
  };
  await audited(gateway, change, async () => {
    await keys.put([made.record]);
    const replaced = await keys.replace(others);
    const removed = await keys.remove(ended);
    if (replaced.length + removed > 0) return;
    await keys.remove([made.record]);
    throw revokedMeanwhile();
  });
  return {
    ...madeReport(gateway, made),
    others: others.map((each) => keyReport(each, nowMs)),
    removed: ended.length,
  };
}

export async function changeKeys(
  gateway: Gateway,
  { id, sha256, plan, comment, expires, blocked, ...signed }: Input<'changeKeys'>,
): Promise<Output<'changeKeys'>> {
  const keys = requireStoredKeys(gateway);
  const chosen = chosenOf(await keysOfId(gateway, id), sha256);
  const change = {
    ...(plan !== undefined && { plan: plan || undefined }),
    ...(comment !== undefined && { comment: comment || undefined }),
    ...(expires !== undefined && { endsMs: endFrom(expires, gateway.now()) }),
    ...(blocked !== undefined && { isBlocked: blocked }),
  };
  if (Object.keys(change).length === 0) {
    throw new OperationError(
      'invalid',
      'nothing to change: set plan, comment, expires, blocked or several of them',
    );
  }
  // After a rotation, the old key must not live on because the new one gets another end.
  if (expires !== undefined && chosen.length > 1) {
    throw new OperationError('not_possible', `expires: ${severalText(chosen)}`);
  }
  const which = sha256 === undefined ? '' : `key ${sha256.slice(0, 12)}: `;
  const line = { ...ofKey('change_key', id, signed), change: which + termsText(change) };
  const changed = await audited(gateway, line, async () => {
    const replaced = await keys.replace(chosen.map((each) => ({ ...each, ...change })));
    if (replaced.length === 0) throw revokedMeanwhile();
    return replaced;
  });
  return reportOf(gateway, changed);
}

export async function revokeKeys(
  gateway: Gateway,
  { id, sha256, ...signed }: Input<'revokeKeys'>,
): Promise<Output<'revokeKeys'>> {
  const keys = requireStoredKeys(gateway);
  const all = await keysOfId(gateway, id);
  const chosen = chosenOf(all, sha256);
  const what = sha256 === undefined ? `${all.length} of ${all.length}` : sha256.slice(0, 12);
  const change = { ...ofKey('revoke_key', id, signed), change: `revoked: ${what}` };
  await audited(gateway, change, () => keys.remove(chosen));
  return { revoked: reportOf(gateway, chosen).keys, left: all.length - chosen.length };
}

export async function listKeys(
  gateway: Gateway,
  { id, after, count }: Input<'listKeys'>,
): Promise<Output<'listKeys'>> {
  const stored = requireStoredKeys(gateway);
  if (id !== undefined) return reportOf(gateway, await keysOfId(gateway, id));
  const { keys, next } = await stored.list(after, count);
  return { ...reportOf(gateway, keys), ...(next !== undefined && { next }) };
}

interface MadeKey {
  readonly key: string;
  readonly record: KeyRecord;
}

function madeKey(terms: Omit<KeyRecord, 'digest' | 'partition'>): MadeKey {
  const { key, sha256 } = newKey();
  const digest = digestOf(sha256);
  return { key, record: { ...terms, digest, partition: listedKeyPartition(terms.id) } };
}

function madeReport(gateway: Gateway, { key, record }: MadeKey): Output<'addKey'> {
  const added = keyReport(record, gateway.now());
  return { key, added, warnings: warningsOf(gateway, [record]) };
}

/** Rejects with an OperationError if there is no such id. */
async function keysOfId(gateway: Gateway, id: string): Promise<readonly KeyRecord[]> {
  const found = await gateway.keys.ofId(id);
  if (found.length > 0) return found;
  throw new OperationError(
    'not_found',
    isInFile(gateway, id)
      ? 'the store has no key with this id; the policy file has one: change it there'
      : 'the store has no key with this id; headgate keys list shows those that there are',
  );
}

function isInFile({ policies }: Gateway, id: string): boolean {
  return policies.current.naming.apiKeys.some((each) => each.id === id);
}

/** All, or the one whose SHA-256 begins so. Throws an OperationError if that is not one. */
function chosenOf(all: readonly KeyRecord[], sha256: string | undefined): readonly KeyRecord[] {
  const found = all.filter((each) => sha256Of(each).startsWith(sha256 ?? ''));
  if (sha256 === undefined || found.length === 1) return found;
  throw new OperationError('not_found', `sha256: ${severalText(all)}`);
}

function severalText(all: readonly KeyRecord[]): string {
  const names = all.map((each) => sha256Of(each).slice(0, 12)).join(', ');
  return `name one key of this id by the first digits of its SHA-256: ${names}`;
}

function revokedMeanwhile(): OperationError {
  return new OperationError(
    'not_found',
    'the keys of this id were revoked at the same time, so nothing was changed: headgate keys add makes a new one',
  );
}

/** An audit line of a key: the subject is what the client of the key is counted by. */
function ofKey(
  action: string,
  id: string,
  { reason, by = 'unknown' }: Pick<Input<'addKey'>, 'reason' | 'by'>,
): Omit<Change, 'change'> {
  return { action, subject: listedKeyPartition(id), client_id: id, reason, by };
}

/** The one that was added last. */
function newest(all: readonly KeyRecord[]): KeyRecord {
  return all.reduce((a, b) => (b.addedMs > a.addedMs ? b : a));
}
