import { identitySchema } from '../../../gateway/config/policy-file/identity-schema.ts';
import { parsePartition } from '../../../gateway/config/policy-file/limit-schema.ts';
import type { Partition } from '../../../gateway/core/policy.ts';

/** Proxies write the client's address into these. headgate counts them as the address. */
const ADDRESS = /^(x-forwarded-for|forwarded|x-real-ip|true-client-ip|cf-connecting-ip)$/i;

/** Undefined if headgate does not count by this header. */
export function headerPartition(name: string): Partition | undefined {
  if (ADDRESS.test(name)) return 'ip';
  try {
    return parsePartition(`header:${name.toLowerCase()}`);
  } catch {
    return undefined;
  }
}

export function isKeyHeader(name: string): boolean {
  return identitySchema.safeParse({ api_key: { header: name } }).success;
}

export const INVENTED =
  'All values from one address together get twice the limit, so that inventing values gains nothing. If your proxy sets the header itself, list it in identity.verified_headers.';
