/** Salts that all gateways on one Redis share. The first gateway to propose a salt decides. */
import { SALT_BYTES } from '../../core/identity/salts.ts';
import { SALTS_CHANNEL } from '../redis/channels.ts';
import type { RedisClient } from '../redis/client.ts';
import { storeErrorFrom } from '../redis/failures.ts';
import type { SaltVault } from './salt-book.ts';

const KEY_PREFIX = 'hg:v1:salt:';

export function redisSaltVault(client: RedisClient): SaltVault {
  const get = async (name: string) => {
    const text = await client.get(KEY_PREFIX + name);
    if (text === null) return undefined;
    const salt = Buffer.from(text, 'base64url');
    if (salt.length === SALT_BYTES) return salt;
    throw new Error(`${KEY_PREFIX}${name} does not hold a salt of ${SALT_BYTES} bytes: delete it`);
  };
  return {
    get,
    async agree(name, proposed, lifetimeMs) {
      // A full Redis refuses every write, also one that would change nothing.
      const stored = await get(name);
      if (stored !== undefined) return stored;
      const [key, text] = [KEY_PREFIX + name, proposed.toString('base64url')];
      const [, agreed] = await Promise.all([
        lifetimeMs === undefined
          ? client.set(key, text, 'NX')
          : client.set(key, text, 'PX', lifetimeMs, 'NX'),
        get(name),
      ]);
      return agreed ?? proposed;
    },
    async requestLost() {
      try {
        await client.publish(SALTS_CHANNEL, '');
      } catch (error) {
        // Without this right, only the gateways that connect again at this moment write back in time.
        if (storeErrorFrom(error).reason !== 'noperm') throw error;
      }
    },
  };
}

/** Programs that are no gateway only read counts, so their salts must not become those of the gateways. */
export function withoutWriting(vault: SaltVault): SaltVault {
  return {
    get: (name) => vault.get(name),
    agree: async (name, proposed) => (await vault.get(name)) ?? proposed,
    requestLost: () => vault.requestLost(),
  };
}
