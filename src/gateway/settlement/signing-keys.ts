/** The keys that sign tokens: those of a setting, or one that is derived from the secret that all gateways keep. */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

interface SigningKey {
  /** KEY_ID_LENGTH characters of base64url. */
  readonly id: string;
  readonly key: KeyObject;
}

export interface SigningKeys {
  /** The key that signs. */
  current(): SigningKey;
  find(id: string): SigningKey | undefined;
}

/** The first key signs, and all verify. There is at least one. */
export function listedKeys(secrets: readonly string[]): SigningKeys {
  const keys = secrets.map((secret) => signingKey(createSecretKey(secret, 'utf8')));
  const [first] = keys;
  if (first === undefined) throw new RangeError('there must be a key that signs');
  return { current: () => first, find: (id) => keys.find((each) => each.id === id) };
}

/**
 * The secret may change once, when gateways agree on it after a start. Tokens that this gateway signed before can still be
 * verified by it.
 */
export function derivedKeys(secretNow: () => KeyObject): SigningKeys {
  let secret: KeyObject | undefined;
  let keys: readonly SigningKey[] = [];
  const latest = (): readonly SigningKey[] => {
    const found = secretNow();
    if (found !== secret) {
      secret = found;
      keys = [signingKey(found), ...keys.slice(0, 1)];
    }
    return keys;
  };
  return {
    current: () => latest()[0] as SigningKey,
    find: (id) => latest().find((each) => each.id === id),
  };
}

const KEY_BYTES = 32;
export const KEY_ID_LENGTH = 6;

/** HKDF (RFC 5869): neither the id nor a signature tells anything of the secret. */
function signingKey(secret: KeyObject): SigningKey {
  const derive = (info: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', info, bytes));
  return {
    id: derive('headgate settle key id', KEY_ID_LENGTH)
      .toString('base64url', 0, KEY_ID_LENGTH)
      .slice(0, KEY_ID_LENGTH),
    key: createSecretKey(derive('headgate settle key', KEY_BYTES)),
  };
}
