/** What distinguishes one state of the configuration from another: the same on every gateway that has the same files. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const DIGITS = 12;

/** Hexadecimal. Of a file that cannot be read, only that. */
export function digestOf(files: readonly string[]): string {
  const digest = createHash('sha256');
  for (const file of files) {
    try {
      // Where one ends and the next begins must not be a matter of taste.
      digest.update(createHash('sha256').update(readFileSync(file)).digest());
    } catch {
      digest.update('unreadable');
    }
  }
  return digest.digest('hex').slice(0, DIGITS);
}
