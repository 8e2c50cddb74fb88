/** The networks of Cloudflare, as a file of its own lists them. */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { DAY_MS } from '../core/salts.ts';
import { ConfigError } from './config-error.ts';
import { addressRanges } from './identity-schema.ts';
import { readYaml } from './yaml-text.ts';

export const SHIPPED_RANGES = fileURLToPath(
  new URL('../../config/cloudflare-ranges.yaml', import.meta.url),
);

const schema = z.strictObject({ updated: z.iso.date(), ranges: addressRanges.min(1) });
const OLD_AFTER_DAYS = 90;

export type CloudflareRanges = z.output<typeof schema>;

/** Throws a ConfigError when the text is no such list. */
export function parseCloudflareRanges(text: string, fileName: string): CloudflareRanges {
  const result = schema.safeParse(readYaml(text).value);
  if (result.success) return result.data;
  throw new ConfigError([
    `${fileName}: must have "updated", a date such as 2026-12-31, and "ranges", a list of CIDR ranges`,
  ]);
}

/** What to do about a list that may not be true any more; undefined for one that is young. */
export function adviceOnAge({ updated }: CloudflareRanges, nowMs: number): string | undefined {
  const days = Math.floor((nowMs - Date.parse(updated)) / DAY_MS);
  if (days <= OLD_AFTER_DAYS) return undefined;
  return (
    `the list of Cloudflare networks is ${days} days old (${updated}): compare it with ` +
    'https://www.cloudflare.com/ips/, and set "updated" to that day in a copy that HEADGATE_CLOUDFLARE_RANGES names'
  );
}
