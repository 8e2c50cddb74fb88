/** The networks of Cloudflare, as a file of its own lists them. */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { compileAddressSet } from '../../core/address.ts';
import { DAY_MS } from '../../core/salts.ts';
import { FileError } from '../file-error.ts';
import { refuseUnreadable } from '../place-diagnostics.ts';
import { holds } from '../refinement.ts';
import { readYaml } from '../yaml-text.ts';
import { addressRange } from './address-range.ts';

export const SHIPPED_RANGES = fileURLToPath(
  new URL('../../../config/cloudflare-ranges.yaml', import.meta.url),
);

/** Without the names that policy files may use, one of which is this list's own. */
const range = addressRange.transform(
  holds((text: string) => {
    compileAddressSet([text]);
    return text;
  }),
);
const schema = z.strictObject({ checked: z.iso.date(), ranges: z.array(range).min(1) });
const OLD_AFTER_DAYS = 90;

export interface CloudflareRanges extends z.output<typeof schema> {
  /** Whether it came with headgate, and no setting names another. */
  readonly isShipped?: boolean;
}

/** Throws a FileError when the text is no such list. */
export function parseCloudflareRanges(text: string, fileName: string): CloudflareRanges {
  const yaml = readYaml(text);
  refuseUnreadable(yaml, fileName);
  const result = schema.safeParse(yaml.value);
  if (result.success) return result.data;
  const message =
    'must have "checked", a date such as 2026-12-31, and "ranges", a list of CIDR ranges';
  const rule = 'invalid-cloudflare-list';
  throw new FileError([{ rule, file: fileName, place: undefined, path: '', message }]);
}

/** That a list may not be true any more; undefined for one that is young. */
export function ageOf({ checked }: CloudflareRanges, nowMs: number): string | undefined {
  const days = Math.floor((nowMs - Date.parse(checked)) / DAY_MS);
  if (days <= OLD_AFTER_DAYS) return undefined;
  return `the list of Cloudflare networks is ${days} days old (${checked})`;
}
