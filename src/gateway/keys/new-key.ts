/** Makes API keys. */
import { hash, randomBytes } from 'node:crypto';

/** Scanners for leaked secrets recognize the prefix. */
const PREFIX = 'hg_';
/** Nobody can guess 256 bits, so an unsalted digest protects the key. */
const KEY_BYTES = 32;

/** `sha256` is in hex, 64 digits. */
export function newKey(): { readonly key: string; readonly sha256: string } {
  const key = PREFIX + randomBytes(KEY_BYTES).toString('base64url');
  return { key, sha256: hash('sha256', key, 'hex') };
}
