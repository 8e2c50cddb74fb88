/** The keys that sign tokens: those of a setting, or one that is derived from the secret that all gateways keep. */
import { createSecretKey, hash, hkdfSync, type KeyObject } from 'node:crypto';

interface SigningKey {
  /** KEY_ID_LENGTH characters of base64url. */
  readonly id: string;
  /** HMAC-SHA-256 of a text, in base64url. */
  readonly sign: (text: string) => string;
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

export const KEY_ID_LENGTH = 6;
/** Of SHA-256. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

/** HKDF (RFC 5869): neither the id nor a signature tells anything of the secret. */
function signingKey(secret: KeyObject): SigningKey {
  const derive = (info: string, characters: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', info, characters))
      .toString('base64url')
      .slice(0, characters);
  return {
    id: derive('headgate settle key id', KEY_ID_LENGTH),
    sign: hmac(derive('headgate settle key', BLOCK_BYTES)),
  };
}

/**
 * RFC 2104 with a key of one block in ASCII. Then a message and what comes before it are one text, which Node hashes in a
 * quarter of the time that `createHmac` takes.
 */
function hmac(key: string): SigningKey['sign'] {
  const padded = (pad: number) => Buffer.from(key).map((byte) => byte ^ pad);
  const inner = Buffer.from(padded(0x36)).toString();
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(DIGEST_BYTES)]);
  return (text) => {
    outer.write(hash('sha256', inner + text, 'binary'), BLOCK_BYTES, 'latin1');
    return hash('sha256', outer, 'base64url');
  };
}
