/** Paths of the files that come with headgate. */
import { fileURLToPath } from 'node:url';

export const SHIPPED_POLICIES = shipped('policies.yaml');
export const SHIPPED_RANGES = shipped('cloudflare-ranges.yaml');

function shipped(name: string): string {
  return fileURLToPath(new URL(`../../config/${name}`, import.meta.url));
}
