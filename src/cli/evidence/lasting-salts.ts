/**
 * Salts that never change: what reads a log as a whole stores no names of addresses, so a client may have one name on all
 * days. They are random, because reports show names of users.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { SALT_BYTES, type SaltSource, type Salts } from '../../gateway/core/identity/salts.ts';

export function lastingSalts(): SaltSource {
  const key = createSecretKey(randomBytes(SALT_BYTES));
  const period = { startMs: 0, current: key, previous: undefined };
  const withoutLong: Salts = { kept: key, daily: period, long: undefined };
  const withLong: Salts = { ...withoutLong, long: period };
  return { at: (_nowMs, hasLongWindows) => (hasLongWindows ? withLong : withoutLong) };
}
