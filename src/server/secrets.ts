/** Secrets that callers show. */
import { timingSafeEqual } from 'node:crypto';

/** Compares in constant time for secrets of one length; how long a secret is may be found out. */
export function compileSecrets(secrets: readonly string[]): (given: string) => boolean {
  const expected = secrets.map((secret) => Buffer.from(secret, 'latin1'));
  return (given) => {
    const bytes = Buffer.from(given, 'latin1');
    let matches = false;
    for (const each of expected) {
      if (each.length === bytes.length && timingSafeEqual(each, bytes)) matches = true;
    }
    return matches;
  };
}
