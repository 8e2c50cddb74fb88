import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const SHIPPED_POLICIES = shipped('policies.yaml');
/** The policies of `headgate ratelimit`. */
export const DROP_IN_POLICIES = shipped('ratelimit-only.yaml');
export const SHIPPED_RANGES = shipped('cloudflare-ranges.yaml');

export const SHIPPED_PAGE = fileURLToPath(new URL('../../../web/ui/', import.meta.url));

function shipped(name: string): string {
  return fileURLToPath(new URL(`../../../config/${name}`, import.meta.url));
}

const PACKAGE = new URL('../../../package.json', import.meta.url);

export const VERSION: string = JSON.parse(readFileSync(PACKAGE, 'utf8')).version;
