/** What operators do with the API keys that the store keeps. Only the answer that makes a key has it. */
import { listedKeyPartition } from '../core/identity/partition.ts';
import { newKey } from '../keys/new-key.ts';
import type { KeyRecord } from '../keys/stored-keys.ts';
import { audited, type Change } from './changes.ts';
import { endFrom, overlapFrom } from './key-end.ts';
import { keyReport, requireStoredKeys, termsText, warningsOf } from './key-report.ts';
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
  const added = keyReport(made.record, nowMs);
  return { key: made.key, added, warnings: warningsOf(gateway, [made.record]) };
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
  const { key, record } = madeKey({ ...latest, isBlocked, endsMs, addedMs: nowMs });
  const untilMs = nowMs + overlapFrom(overlap);
  const ending = before.map((each) => ({ ...each, endsMs: Math.min(each.endsMs, untilMs) }));
  const ended = ending.filter((each) => each.endsMs <= nowMs);
  const others = ending.filter((each) => each.endsMs > nowMs);
  const change = {
    ...ofKey('rotate_key', id, signed),
    change: `rotated: ${termsText(record)}; ${others.length} others end within ${overlap}, ${ended.length} removed`,
  };
  await audited(gateway, change, async () => {
    await keys.put([record, ...others]);
    if (ended.length > 0) await keys.remove(ended);
  });
  return {
    key,
    added: keyReport(record, nowMs),
    others: others.map((each) => keyReport(each, nowMs)),
    removed: ended.length,
    warnings: warningsOf(gateway, [record]),
  };
}

export async function changeKeys(
  gateway: Gateway,
  { id, sha256, plan, comment, expires, blocked, reason, by }: Input<'changeKeys'>,
): Promise<Output<'changeKeys'>> {
  const keys = requireStoredKeys(gateway);
  const nowMs = gateway.now();
  const all = await keysOfId(gateway, id);
  const chosen = sha256 === undefined ? all : [oneOf(all, sha256)];
  const change = {
    ...(plan !== undefined && { plan: plan || undefined }),
    ...(comment !== undefined && { comment: comment || undefined }),
    ...(expires !== undefined && { endsMs: endFrom(expires, nowMs) }),
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
  const changed = chosen.map((each) => ({ ...each, ...change }));
  const which = sha256 === undefined ? '' : `key ${sha256.slice(0, 12)}: `;
  const line = {
    ...ofKey('change_key', id, { reason, by }),
    change: which + termsText(change),
  };
  await audited<unknown>(gateway, line, () =>
    chosen.length === all.length ? keys.change(id, change) : keys.put(changed),
  );
  return {
    keys: changed.map((each) => keyReport(each, nowMs)),
    warnings: warningsOf(gateway, changed),
  };
}

export async function revokeKeys(
  gateway: Gateway,
  { id, sha256, ...signed }: Input<'revokeKeys'>,
): Promise<Output<'revokeKeys'>> {
  const keys = requireStoredKeys(gateway);
  const all = await keysOfId(gateway, id);
  const chosen = sha256 === undefined ? all : [oneOf(all, sha256)];
  const what = sha256 === undefined ? `${all.length} of ${all.length}` : sha256.slice(0, 12);
  const change = { ...ofKey('revoke_key', id, signed), change: `revoked: ${what}` };
  await audited(gateway, change, () => keys.remove(chosen));
  const nowMs = gateway.now();
  const revoked = chosen.map((each) => keyReport(each, nowMs));
  return { revoked, left: all.length - chosen.length };
}

export async function showKeys(
  gateway: Gateway,
  { id }: Input<'showKeys'>,
): Promise<Output<'showKeys'>> {
  requireStoredKeys(gateway);
  const found = await keysOfId(gateway, id);
  const nowMs = gateway.now();
  return {
    keys: found.map((each) => keyReport(each, nowMs)),
    warnings: warningsOf(gateway, found),
  };
}

export async function listKeys(
  gateway: Gateway,
  { after, count }: Input<'listKeys'>,
): Promise<Output<'listKeys'>> {
  const { keys, next } = await requireStoredKeys(gateway).list(after, count);
  const nowMs = gateway.now();
  return {
    keys: keys.map((each) => keyReport(each, nowMs)),
    ...(next !== undefined && { next }),
    warnings: warningsOf(gateway, keys),
  };
}

type Terms = Omit<KeyRecord, 'digest' | 'partition'>;

function madeKey(terms: Terms): { readonly key: string; readonly record: KeyRecord } {
  const { key, sha256 } = newKey();
  const digest = Buffer.from(sha256, 'hex').toString('base64url');
  return { key, record: { ...terms, digest, partition: listedKeyPartition(terms.id) } };
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

function oneOf(all: readonly KeyRecord[], sha256: string): KeyRecord {
  const found = all.filter((each) => hexOf(each).startsWith(sha256));
  const [one] = found;
  if (one !== undefined && found.length === 1) return one;
  throw new OperationError('not_found', `sha256: ${severalText(all)}`);
}

function severalText(all: readonly KeyRecord[]): string {
  const names = all.map((each) => hexOf(each).slice(0, 12)).join(', ');
  return `name one key of this id by the first digits of its SHA-256: ${names}`;
}

/** An audit line of a key: the subject is what the client of the key is counted by. */
function ofKey(
  action: string,
  id: string,
  {
    reason,
    by = 'unknown',
  }: { readonly reason?: string | undefined; readonly by?: string | undefined },
): Omit<Change, 'change'> {
  return { action, subject: listedKeyPartition(id), client_id: id, reason, by };
}

/** The one that was added last. */
function newest(all: readonly KeyRecord[]): KeyRecord {
  return all.reduce((a, b) => (b.addedMs > a.addedMs ? b : a));
}

const hexOf = ({ digest }: KeyRecord) => Buffer.from(digest, 'base64url').toString('hex');
