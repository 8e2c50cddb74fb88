/** Finds the clients of keys that the store keeps by what operators write. */
import { hash } from 'node:crypto';
import { StoreError } from '../core/counting/store.ts';
import type { StoredKey } from '../core/identity/key-directory.ts';
import { listedKeyPartition } from '../core/identity/partition.ts';
import { digestOf } from '../keys/stored-keys.ts';
import type { Gateway } from './running-gateway.ts';

type Known = Pick<Gateway, 'policies' | 'keys' | 'now'>;

/** The partition of a client whose key the store has, by its id or by the key itself. Keys of the policy file take precedence. */
export async function storedPartition(text: string, gateway: Known): Promise<string | undefined> {
  const { keysInStore, sources, apiKeys } = gateway.policies.current.naming;
  const [, form, value = ''] = /^(id|key):(.+)$/s.exec(text) ?? [];
  if (!keysInStore || !sources.includes('api_key') || form === undefined) return undefined;
  if (form === 'key') return partitionOfKey(value, gateway);
  if (apiKeys.some(({ id }) => id === value)) return undefined;
  const partition = listedKeyPartition(value);
  const { keys } = gateway;
  try {
    return (await keys.ofId(value)).length > 0 ? partition : undefined;
  } catch (error) {
    // What was found before names the client too.
    if (!(error instanceof StoreError) || keys.clientOf(partition) === undefined) throw error;
    return partition;
  }
}

/** An ended key counts as unlisted. */
async function partitionOfKey(key: string, gateway: Known) {
  const found = await storedKeyOf(key, gateway);
  return found !== undefined && gateway.now() < found.endsMs ? found.partition : undefined;
}

async function storedKeyOf(key: string, { keys, policies }: Known) {
  const sha256 = hash('sha256', key, 'hex');
  if (policies.current.naming.apiKeys.some((each) => each.sha256 === sha256)) return undefined;
  const digest = digestOf(sha256);
  return keys.find(digest) ?? (await keys.ofDigests([digest]))[0];
}

/**
 * The key that ended last, if all keys of the store have ended that the client has, or the one that `key:KEY` names.
 * Undefined also if the store fails.
 */
export async function endedKey(
  text: string,
  partition: string,
  gateway: Known,
): Promise<StoredKey | undefined> {
  const { listedClients, naming } = gateway.policies.current;
  const { id, stored } = listedClients.get(partition) ?? {};
  const [, key] = /^key:(.+)$/s.exec(text) ?? [];
  if (!naming.keysInStore) return undefined;
  try {
    const ofKey = key === undefined ? undefined : await storedKeyOf(key, gateway);
    const all = stored && id !== undefined ? await gateway.keys.ofId(id) : ofKey ? [ofKey] : [];
    const [last] = [...all].sort((a, b) => b.endsMs - a.endsMs);
    return last !== undefined && last.endsMs <= gateway.now() ? last : undefined;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return undefined;
  }
}

/** Whether the store keeps a blocked key of this id. Undefined without an id, or if the store fails. */
export async function isKeyBlocked(
  { keys }: Pick<Gateway, 'keys'>,
  id: string | undefined,
): Promise<boolean | undefined> {
  if (id === undefined) return undefined;
  try {
    return (await keys.ofId(id)).some(({ isBlocked }) => isBlocked);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return undefined;
  }
}
