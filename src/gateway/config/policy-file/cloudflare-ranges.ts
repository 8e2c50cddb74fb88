/** Reads the list of Cloudflare networks. */
import { z } from 'zod';
import { compileAddressSet } from '../../core/identity/address.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import { FileError } from '../config-error.ts';
import { diagnostic } from '../diagnostic.ts';
import { holds } from '../refinement.ts';
import { YamlFile } from '../yaml/yaml-file.ts';
import { addressRange } from './address-range.ts';

/** Unlike in a policy file, a range cannot be the name `cloudflare`, which is this list. */
const range = addressRange.transform(
  holds((text: string) => {
    compileAddressSet([text]);
    return text;
  }),
);
const schema = z.strictObject({ checked: z.iso.date(), ranges: z.array(range).min(1) });
const MAX_AGE_DAYS = 90;

export interface CloudflareRanges extends z.output<typeof schema> {
  /** True for the list that came with headgate. */
  readonly isShipped?: boolean;
}

/** Throws a FileError if the text is not such a list. */
export function parseCloudflareRanges(text: string, fileName: string): CloudflareRanges {
  const yaml = new YamlFile(text, fileName);
  yaml.refuseMistakes();
  const result = schema.safeParse(yaml.value);
  if (result.success) return result.data;
  const message =
    'must have "checked", a date such as 2026-12-31, and "ranges", a list of CIDR ranges';
  const rule = 'invalid-cloudflare-list';
  throw new FileError([diagnostic({ rule, file: fileName, place: undefined, path: '', message })]);
}

/** Says that a list is old; undefined if it is not. */
export function ageOf({ checked }: CloudflareRanges, nowMs: number): string | undefined {
  const days = Math.floor((nowMs - Date.parse(checked)) / DAY_MS);
  if (days <= MAX_AGE_DAYS) return undefined;
  return `the list of Cloudflare networks is ${days} days old (${checked})`;
}
