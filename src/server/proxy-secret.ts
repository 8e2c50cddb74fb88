/** The secret that proxies send to show that they are ours. */
import { timingSafeEqual } from 'node:crypto';
import type { HeaderFields } from '../core/check-request.ts';

export const SECRET_HEADER = 'x-headgate-secret';

/** Compares in constant time for secrets of one length; how long a secret is may be found out. */
export function compileSecretCheck(secrets: readonly string[]): (headers: HeaderFields) => boolean {
  if (secrets.length === 0) return () => true;
  const expected = secrets.map((secret) => Buffer.from(secret, 'latin1'));
  return (headers) => {
    const given = headers[SECRET_HEADER];
    if (typeof given !== 'string') return false;
    const bytes = Buffer.from(given, 'latin1');
    let matches = false;
    for (const each of expected) {
      if (each.length === bytes.length && timingSafeEqual(each, bytes)) matches = true;
    }
    return matches;
  };
}
