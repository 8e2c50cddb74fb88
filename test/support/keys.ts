/** Keys as stores keep them, and what a directory of them reports. */
import { hash } from 'node:crypto';
import { vi } from 'vitest';
import type { KeyEvents } from '../../src/gateway/keys/key-events.ts';
import { clientOf } from '../../src/gateway/keys/key-record.ts';
import type { KeyRecord, StoredKeys } from '../../src/gateway/keys/stored-keys.ts';
import { NOON_MS } from './requests.ts';

export const digestOf = (key: string) => hash('sha256', key, 'base64url');

/** The record of a key of this client. Without `key`, the id is the key too. */
export function keyRecord(
  id: string,
  { key = id, ...more }: Partial<KeyRecord> & { readonly key?: string } = {},
): KeyRecord {
  return {
    ...clientOf(id),
    digest: digestOf(key),
    plan: 'free',
    isBlocked: false,
    endsMs: Number.POSITIVE_INFINITY,
    comment: undefined,
    addedMs: NOON_MS,
    ...more,
  };
}

/** Changes all keys of an id, as operators do. Resolves to them as they are then. */
export async function changeKeys(
  keys: Pick<StoredKeys, 'ofId' | 'replace'>,
  id: string,
  change: Partial<KeyRecord>,
): Promise<readonly KeyRecord[]> {
  return keys.replace((await keys.ofId(id)).map((record) => ({ ...record, ...change })));
}

export function observedKeyEvents() {
  return {
    lookedUp: vi.fn<KeyEvents['lookedUp']>(),
    lookUpsLate: vi.fn<KeyEvents['lookUpsLate']>(),
    lookUpsFailed: vi.fn<KeyEvents['lookUpsFailed']>(),
    tooManyInvented: vi.fn<KeyEvents['tooManyInvented']>(),
    recordUnreadable: vi.fn<KeyEvents['recordUnreadable']>(),
    changesMissed: vi.fn<KeyEvents['changesMissed']>(),
  };
}
