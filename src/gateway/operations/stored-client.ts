/** Finds the clients of keys that the store keeps by what operators write. */
import { hash } from 'node:crypto';
import { StoreError } from '../core/counting/store.ts';
import type { KeyDirectory } from '../core/identity/key-directory.ts';
import { listedKeyPartition } from '../core/identity/partition.ts';
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
    const digests = (await keys.ofId(value)).map(({ digest }) => digest);
    if (digests.length === 0) return undefined;
    await remember(digests.slice(0, MOST_LOOKED_UP), keys);
  } catch (error) {
    // What checks found before names the client too.
    if (!(error instanceof StoreError) || keys.clientOf(partition) === undefined) throw error;
  }
  return partition;
}

/** An ended key counts as unlisted. */
async function partitionOfKey(key: string, { keys, policies, now }: Known) {
  const sha256 = hash('sha256', key, 'hex');
  if (policies.current.naming.apiKeys.some((each) => each.sha256 === sha256)) return undefined;
  const digest = Buffer.from(sha256, 'hex').toString('base64url');
  const found = keys.find(digest) ?? (await keys.ofDigest(digest));
  if (found === undefined || found.endsMs <= now()) return undefined;
  await remember([digest], keys);
  return found.partition;
}

const MOST_LOOKED_UP = 100;
/** In place of the address of a client. They invent no keys: the store has these. */
const OPERATORS = 'operators';

/** As checks do, so that answers have the id and the plan of the client. */
async function remember(digests: readonly string[], keys: KeyDirectory): Promise<void> {
  await keys.lookUp(digests, () => OPERATORS);
  for (const digest of digests) keys.find(digest);
}
